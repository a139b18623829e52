#include "cli/help.hpp"

#include <fmt/format.h>

#include "cli/settings.hpp"

namespace cli {
namespace {

constexpr std::string_view head = R"(sandbox-lock runs a command while it holds an isolation slot.

Usage: sandbox-lock [OPTION]... KEY [--] COMMAND [ARG]...
       sandbox-lock [OPTION]... KEY -c STRING
       sandbox-lock status|break|doctor --help
KEY: session:VALUE, user:VALUE, agent:VALUE, global:VALUE or global

)";

constexpr std::string_view tail = R"(Others:
  -c, --command STRING          run STRING by $SHELL -c
      --config FILE             instead of /etc/sandbox-lock.toml and your own
  -h, --help; -V, --version;    -x, -e, -o, -s as in flock(1), -s is refused

TIME: seconds, or 500ms, 90s, 30m, 2h, 1h30m. Each option is also an
environment variable (SANDBOX_LOCK_LEASE_TTL) and a configuration entry
(lease-ttl = "30s"). Exit status: the command's own; else 75 not acquired (-E),
69 store down, 79 lease lost, 64 usage, 78 configuration, 77 login or right
refused, 70 and 71 internal and system, 126, 127 no such command, 128+signal.
)";

std::string line_for(const Setting& setting) {
    const std::string_view flags = setting.flags;
    const bool has_short = flags[1] != '-';
    const std::string names = fmt::format(
        "  {} --{} {}", has_short ? std::string(flags.substr(0, 2)) + "," : std::string("   "),
        setting.name(), setting.value);
    return fmt::format("{:<29} {}\n", names, setting.help);
}

}  // namespace

std::string help_text() {
    std::string text{head};
    const Setting* previous = nullptr;
    for (const Setting& setting : all_settings()) {
        if (previous == nullptr || previous->group != setting.group)
            text += fmt::format("{}:\n", title_of(setting.group));
        text += line_for(setting);
        previous = &setting;
    }
    return text.append(tail);
}

std::string_view status_help() noexcept {
    return R"(Shows which slots are held, by whom, and how many wait for them.

Usage: sandbox-lock status [OPTION]... [KEY]...
Without KEY: all slots under --key-prefix that are held.

      --json      for programs, see sandbox-lock(1)
      --watch     show it anew every second
  -q, --quiet     for one KEY: print nothing; exit status 0: free, 1: held
  and the options for the store, see sandbox-lock --help
)";
}

std::string_view break_help() noexcept {
    return R"(Takes a slot away from its holder, who ends its command at its next renewal.

Usage: sandbox-lock break [OPTION]... KEY
Shows the holder and asks. The slot stays closed until the lease would have ended.

      --token T   do not ask, if T is the holder's token or its id: see status --json
      --force     free the slot at once: until the holder notices, two may overlap
  and the options for the store, see sandbox-lock --help
)";
}

std::string_view doctor_help() noexcept {
    return R"(Checks whether the store is fit for locks, and says what to do where it is not.

Usage: sandbox-lock doctor [OPTION]... [--acl] [--json]
One line a check: OK, WARN or FAIL. Tries the lock on a slot of its own.

      --acl       print which rights a user of a Redis server needs; connects nowhere
      --json      for programs, see sandbox-lock(1)
  -q, --quiet     only what is not OK
  and the options of a run, see sandbox-lock --help
Exit status: 0 all is OK, 1 there is a WARN, 2 there is a FAIL.
)";
}

}  // namespace cli
