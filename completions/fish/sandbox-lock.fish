# Completions for sandbox-lock(1).

# Prints what the word at the cursor is: an "option", the "value" of one, the "key", the "command", or
# "in-command" and then the command's words before it, one a line. Nothing where no word fits.
function __sandbox_lock_place
    set -l words (commandline -opc)
    set -e words[1]
    if contains -- "$words[1]" status break doctor
        string match -q -- '-*' (commandline -ct); and echo inspection-option; and return
        switch $words[-1]
            case --store --key-prefix --password-file --tls-cacert --cacert --tls-cert --cert \
                --tls-key --key --tls-server-name --connect-timeout --response-timeout \
                --sentinel-user --sentinel-password-file --log-format --config --token \
                --lease-ttl --kill-after --retry-interval
                echo inspection-value
            case '*'
                test "$words[1]" != doctor; and echo key
        end
        return
    end
    set -l options yes
    set -l key no
    set -l string no
    while set -q words[1]
        set -l word $words[1]
        set -l takes_value no
        if test $options = no; or not string match -qr '^-.' -- $word
            if test $key = yes
                test $string = no; and printf '%s\n' in-command $words
                return
            end
            set key yes
        else
            switch $word
                case --
                    set options no
                case --wait --timeout --conflict-exit-code --retry-interval --label --lease-ttl \
                    --on-lost --kill-after --store --key-prefix --password-file \
                    --cleanup --cleanup-timeout --container --linger --if-down --min-replicas --sentinel-user --sentinel-password-file \
                    --tls-cacert --cacert --tls-cert --cert --tls-key --key --tls-server-name \
                    --connect-timeout --response-timeout --log-format --config
                    set takes_value yes
                case --command
                    set string yes
                    set takes_value yes
                case '--command=*'
                    set string yes
                case '--*'
                case '*'
                    # In a cluster of letters the first that takes a value has the rest for it.
                    set -l letter (string match -r '^-[^wEc]*([wEc])(.*)' -- $word)
                    test "$letter[2]" = c; and set string yes
                    set -q letter[2]; and test -z "$letter[3]"; and set takes_value yes
            end
        end
        set -e words[1]
        if test $takes_value = yes
            set -q words[1]; or echo value
            set -q words[1]; or return
            set -e words[1]
        end
    end
    if test $options = yes; and string match -q -- '-*' (commandline -ct)
        echo option
    else if test $key = no
        echo key
    else if test $string = no
        echo command
    end
end

function __sandbox_lock_is_at
    set -l place (__sandbox_lock_place)
    contains -- "$place[1]" $argv
end

function __sandbox_lock_complete_command
    set -l place (__sandbox_lock_place)
    __fish_complete_subcommand --commandline $place[2..] (commandline -ct)
end

# Whether the line is one of status, break or doctor (as named), at an option or its value.
function __sandbox_lock_inspects
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv; and __sandbox_lock_is_at inspection-option inspection-value
end

complete -c sandbox-lock -f
complete -c sandbox-lock -n 'test (count (commandline -opc)) = 1' -x -a 'status\t"who holds which slot" break\t"take a slot away from its holder" doctor\t"is the store fit for locks"'
complete -c sandbox-lock -n '__sandbox_lock_inspects status' -l json -d 'For programs'
complete -c sandbox-lock -n '__sandbox_lock_inspects status' -l watch -d 'Show it anew every second'
complete -c sandbox-lock -n '__sandbox_lock_inspects break' -l token -x -d "The holder's token or its id"
complete -c sandbox-lock -n '__sandbox_lock_inspects break' -l force -d 'Free the slot at once'
complete -c sandbox-lock -n '__sandbox_lock_inspects doctor' -l acl -d 'Print which rights are needed'
complete -c sandbox-lock -n '__sandbox_lock_inspects doctor' -l json -d 'For programs'
complete -c sandbox-lock -n '__sandbox_lock_inspects doctor' -l lease-ttl -x -d "The lease's length"
complete -c sandbox-lock -n '__sandbox_lock_inspects doctor' -l no-renew -d 'One lease, never renewed'
complete -c sandbox-lock -n '__sandbox_lock_inspects doctor' -l kill-after -x -d 'From TERM to KILL when ending the command'
complete -c sandbox-lock -n '__sandbox_lock_inspects doctor' -l retry-interval -x -d 'Time between two tries'
complete -c sandbox-lock -n '__sandbox_lock_is_at command' -x -a '(__fish_complete_command)'
complete -c sandbox-lock -n '__sandbox_lock_is_at in-command' -x -a '(__sandbox_lock_complete_command)'
complete -c sandbox-lock -n '__sandbox_lock_is_at key' -x -a 'session:\t"one session" user:\t"one user" agent:\t"one agent" global:\t"a slot of this name for all" global\t"the one slot for all"'

complete -c sandbox-lock -n '__sandbox_lock_is_at option' -s n -l nonblock -l nb -l nonblocking -d 'Fail if the slot is taken'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -s w -l wait -l timeout -x -d 'Wait at most so long'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -s E -l conflict-exit-code -x -d 'Exit status when the slot stays taken'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l if-down -x -a 'fail\t"Give up" wait\t"Until it is back" run\t"Without the lock"' -d 'What to do when the store is down'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l retry-interval -x -d 'Time between two tries'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l label -x -d 'What others see as the holder'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l lease-ttl -x -d "The lease's length"
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l min-replicas -x -d 'Replicas that must have a lease'
complete -c sandbox-lock -n '__sandbox_lock_is_at option' -l no-renew -d 'One lease, never renewed'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l on-lost -x -a 'term\t"End the command" warn\t"Only say so"' -d 'What to do when the lease is lost'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l kill-after -x -d 'From TERM to KILL when ending the command'
complete -c sandbox-lock -n '__sandbox_lock_is_at option' -l wait-descendants -d 'Hold the slot until all descendants are gone'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l cleanup -x -a '(__fish_complete_command)' -d 'Run it before the slot is freed'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l cleanup-timeout -x -d 'End a cleanup that takes longer'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l container -x -a '(timeout 1 docker ps --format "{{.Names}}" 2>/dev/null)' -d 'End what docker run or exec left there'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -l linger -x -d 'Keep the slot closed after KILL or a signal'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l store -x -a 'file: redis:// rediss:// redis+unix:// redis+sentinel:// rediss+sentinel://' -d 'Where slots are kept'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l key-prefix -x -a 'agentscope:sandbox:lock: agentscope:guard:' -d 'Start of store keys'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l password-file -r -F -d "The store's password, on the first line"
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l sentinel-user -x -d 'Login at sentinels'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l sentinel-password-file -r -F -d 'Its password, on the first line'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l tls-cacert -l cacert -r -F -d 'TLS: whom to trust'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l tls-cert -l cert -r -F -d 'TLS: our certificate'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l tls-key -l key -r -F -d "TLS: our certificate's private key"
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l tls-server-name -x -a '(__fish_print_hostnames)' -d 'TLS: whom its certificate names'
complete -c sandbox-lock -n '__sandbox_lock_is_at option inspection-option' -l tls-insecure -d 'TLS: check no certificate, unsafe'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l connect-timeout -x -d 'Give up a store that is down'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l response-timeout -x -d 'Give up one request'
complete -c sandbox-lock -n '__sandbox_lock_is_at option inspection-option' -s v -l verbose -d 'Tell what is done and how long it took'
complete -c sandbox-lock -n '__sandbox_lock_is_at option inspection-option' -s q -l quiet -d 'Errors only'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l log-format -x -a 'text json' -d 'Form of messages'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value' -s c -l command -x -a '(__fish_complete_command)' -d 'Run a string by the shell'
complete -c sandbox-lock -n '__sandbox_lock_is_at option value inspection-option inspection-value' -l config -r -F -d 'Read this configuration file'
complete -c sandbox-lock -n '__sandbox_lock_is_at option' -s x -s e -l exclusive -d 'No effect: every lease is exclusive'
complete -c sandbox-lock -n '__sandbox_lock_is_at option' -s o -l close -d 'No effect: a lease is never inherited'
complete -c sandbox-lock -n '__sandbox_lock_is_at option inspection-option' -s h -l help -d 'Print help'
complete -c sandbox-lock -n '__sandbox_lock_is_at option' -s V -l version -d 'Print the version'
