#pragma once

namespace container {

/// Sent into a container by `exec ... sh -c`: signals the processes of one exec, those with the
/// mark in their environment and all their descendants, by what any shell has built in. $1 is the
/// mark as NAME=VALUE, $2 the signal's number, 0 for none; with $3, only the exec's first process
/// counts, whose parent is not in the container. Prints "sandbox-lock:" and the pids that it has
/// found, and "unreadable:" and the uids of processes whose environment this user may not read.
inline constexpr const char* inside_script = R"sh(found= all= unreadable=
for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    [ "$pid" = $$ ] && continue
    parent= uid= state=
    { while IFS= read -r line; do
        case $line in
            State:*) state=${line#State:} ;;
            PPid:*) parent=${line##*[!0-9]} ;;
            Uid:*) set -- "$1" "$2" "$3" ${line#Uid:}; uid=$4; break ;;
        esac
    done <"$folder/status"; } 2>/dev/null
    case $state in *[ZX]*) continue ;; esac
    [ -n "$uid" ] || continue
    all="$all $pid:$parent"
    # read drops the NULs between the variables.
    { while IFS= read -r line || [ -n "$line" ]; do
        case $line in *"$1"*)
            [ "$3" ] && [ "$parent" != 0 ] || found="$found $pid"
            break ;;
        esac
    done <"$folder/environ"; } 2>/dev/null || unreadable="$unreadable $uid"
done
more=$found
[ "$3" ] && more=
while [ -n "$more" ]; do
    next=
    for entry in $all; do
        pid=${entry%:*}
        case " $more " in *" ${entry#*:} "*) ;; *) continue ;; esac
        case " $found $next " in *" $pid "*) ;; *) next="$next $pid" ;; esac
    done
    found="$found$next"
    more=$next
done
[ "$2" = 0 ] || [ -z "$found" ] || kill "-$2" $found 2>/dev/null
echo "sandbox-lock:$found"
echo "unreadable:$unreadable"
)sh";

}  // namespace container
