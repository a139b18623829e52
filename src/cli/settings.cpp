#include "cli/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/duration.hpp"
#include "container/client_line.hpp"
#include "guard/isolation_key.hpp"

namespace cli {
namespace {

using guard::Done;
using guard::Duration;
using guard::Error;
using guard::Fault;
using guard::Result;

using Outcome = Result<Done>;

Error refuse(std::string_view text, std::string_view accepted) {
    return {Fault::configuration, fmt::format("'{}' is not accepted: use {}", text, accepted)};
}

template <auto field>
Outcome set_text(Settings& settings, std::string_view text) {
    if (text.empty()) return refuse(text, "some text");
    settings.*field = std::string(text);
    return Done{};
}

template <auto field>
Outcome set_switch(Settings& settings, std::string_view text) {
    const bool on = text == "true" || text == "1" || text == "yes" || text == "on";
    const bool off = text == "false" || text == "0" || text == "no" || text == "off";
    if (!on && !off) return refuse(text, "true or false");
    settings.*field = on;
    return Done{};
}

template <auto field>
Outcome set_duration(Settings& settings, std::string_view text) {
    const auto span = parse_duration(text);
    if (!span) return refuse(text, duration_forms);
    settings.*field = *span;
    return Done{};
}

template <auto field>
Outcome set_positive_duration(Settings& settings, std::string_view text) {
    const auto span = parse_duration(text);
    if (!span || *span < std::chrono::milliseconds{1})
        return refuse(text, fmt::format("more than nothing: {}", duration_forms));
    settings.*field = *span;
    return Done{};
}

Outcome set_no_renew(Settings& settings, std::string_view text) {
    bool Settings::*const renew = &Settings::renew;
    auto set = set_switch<&Settings::renew>(settings, text);
    if (set) settings.*renew = !(settings.*renew);
    return set;
}

Outcome set_prefix(Settings& settings, std::string_view text) {
    auto prefix = guard::normal_prefix(text);
    if (!prefix) return prefix.error();
    settings.key_prefix = std::move(*prefix);
    return Done{};
}

template <auto field, int most>
Outcome set_number(Settings& settings, std::string_view text) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number > most)
        return refuse(text, fmt::format("0 to {}", most));
    settings.*field = number;
    return Done{};
}

Outcome set_on_lost(Settings& settings, std::string_view text) {
    if (text != "term" && text != "warn") return refuse(text, "term or warn");
    settings.on_lost = text == "term" ? OnLost::term : OnLost::warn;
    return Done{};
}

Outcome set_if_down(Settings& settings, std::string_view text) {
    if (text == "fail")
        settings.if_down = IfDown::fail;
    else if (text == "wait")
        settings.if_down = IfDown::wait;
    else if (text == "run")
        settings.if_down = IfDown::run;
    else
        return refuse(text, "fail, wait or run");
    return Done{};
}

Outcome set_log_format(Settings& settings, std::string_view text) {
    if (text != "text" && text != "json") return refuse(text, "text or json");
    settings.log_format = text == "text" ? LogFormat::text : LogFormat::json;
    return Done{};
}

constexpr char between_texts = '\0';

Outcome set_cleanups(Settings& settings, std::string_view text) {
    settings.cleanups.clear();
    for (std::size_t start = 0; start <= text.size();) {
        const auto end = std::min(text.find(between_texts, start), text.size());
        if (end == start) return refuse("", "a shell command");
        settings.cleanups.emplace_back(text.substr(start, end - start));
        start = end + 1;
    }
    return Done{};
}

Outcome set_container(Settings& settings, std::string_view text) {
    settings.container = std::string(text);
    if (!container::is_container_name(settings.container))
        return refuse(text, "a container's name: letters, digits, '_', '.' and '-'");
    return Done{};
}

using S = Settings;
constexpr std::array settings_table{
    Setting{"-n,--nonblock,--nb,--nonblocking", "", Group::entering, "fail if the slot is taken",
            set_switch<&S::nonblock>},
    Setting{"-w,--wait,--timeout", "TIME", Group::entering, "wait at most so long; 0 is -n",
            set_duration<&S::wait>},
    Setting{"-E,--conflict-exit-code", "N", Group::entering,
            "exit status when the slot stays taken [75]", set_number<&S::conflict_exit_code, 255>},
    Setting{"--if-down", "fail|wait|run", Group::entering, "store down: what to do [fail]",
            set_if_down},
    Setting{"--retry-interval", "TIME", Group::entering, "time between two tries [500ms]",
            set_positive_duration<&S::retry_interval>},
    Setting{"--label", "TEXT", Group::entering, "what others see as the holder [command's name]",
            set_text<&S::label>},

    Setting{"--lease-ttl", "TIME", Group::lease, "the lease's length, renewed every third [30s]",
            set_positive_duration<&S::lease_ttl>},
    Setting{"--no-renew", "", Group::lease, "one lease of --lease-ttl, never renewed",
            set_no_renew},
    Setting{"--min-replicas", "N", Group::lease, "replicas that must have a lease [0]",
            set_number<&S::min_replicas, 1000>},
    Setting{"--on-lost", "term|warn", Group::lease, "lease lost: end the command or say so [term]",
            set_on_lost},
    Setting{"--kill-after", "TIME", Group::lease, "from TERM to KILL when ending the command [5s]",
            set_duration<&S::kill_after>},
    Setting{"--wait-descendants", "", Group::lease, "hold the slot until all descendants are gone",
            set_switch<&S::wait_descendants>},

    Setting{"--cleanup", "COMMAND", Group::ending,
            "run it before the slot is freed; may be repeated", set_cleanups, true},
    Setting{"--cleanup-timeout", "TIME", Group::ending, "end a cleanup that takes longer [30s]",
            set_positive_duration<&S::cleanup_timeout>},
    Setting{"--container", "NAME", Group::ending,
            "docker run, docker exec: end the work there, too", set_container},
    Setting{"--linger", "TIME", Group::ending, "keep the slot closed after KILL or a signal",
            set_duration<&S::linger>},

    Setting{"--store", "URL", Group::store, "where slots are kept [redis://127.0.0.1:6379]",
            set_text<&S::store>},
    Setting{"--key-prefix", "TEXT", Group::store, "start of store keys [agentscope:sandbox:lock:]",
            set_prefix},
    Setting{"--password-file", "FILE", Group::store, "the store's password, on the first line",
            set_text<&S::password_file>},
    Setting{"--sentinel-user", "NAME", Group::store, "login at sentinels, if they want one",
            set_text<&S::sentinel_user>},
    Setting{"--sentinel-password-file", "FILE", Group::store, "its password, on the first line",
            set_text<&S::sentinel_password_file>},
    // By its short name the key's variable would be SANDBOX_LOCK_KEY, which holds the slot.
    Setting{"--tls-cacert,--cacert", "FILE", Group::store, "TLS: whom to trust [system's]",
            set_text<&S::tls_cacert>},
    Setting{"--tls-cert,--cert", "FILE", Group::store, "TLS: our certificate, if one is wanted",
            set_text<&S::tls_cert>},
    Setting{"--tls-key,--key", "FILE", Group::store, "TLS: our certificate's private key",
            set_text<&S::tls_key>},
    Setting{"--tls-server-name", "NAME", Group::store,
            "TLS: whom its certificate names [URL's host]", set_text<&S::tls_server_name>},
    Setting{"--tls-insecure", "", Group::store, "TLS: check no certificate; unsafe",
            set_switch<&S::tls_insecure>},
    Setting{"--connect-timeout", "TIME", Group::store, "give up a store that is down [5s]",
            set_positive_duration<&S::connect_timeout>},
    Setting{"--response-timeout", "TIME", Group::store, "give up one request [2s]",
            set_positive_duration<&S::response_timeout>},

    Setting{"-v,--verbose", "", Group::output, "tell what is done and how long it took",
            set_switch<&S::verbose>},
    Setting{"-q,--quiet", "", Group::output, "errors only", set_switch<&S::quiet>},
    Setting{"--log-format", "text|json", Group::output, "json: one object a line [text]",
            set_log_format},
};

/// Renewal every third must leave room for a request and for ending the tree.
constexpr Duration shortest_ttl = std::chrono::seconds{1};
/// A container's end goes through its engine's client, and that takes its time on a busy machine.
constexpr Duration shortest_ttl_with_container = std::chrono::seconds{10};

}  // namespace

std::string joined_texts(const std::vector<std::string>& texts) {
    return fmt::format("{}", fmt::join(texts, std::string_view{&between_texts, 1}));
}

std::string_view title_of(Group group) noexcept {
    constexpr std::array<std::string_view, 5> titles{"Entering", "Lease and command",
                                                     "End of the run", "Store", "Output"};
    return titles[static_cast<std::size_t>(group)];
}

std::string_view Setting::name() const noexcept {
    const auto start = flags.find("--") + 2;
    return flags.substr(start, flags.find(',', start) - start);
}

std::string Setting::variable() const {
    std::string variable = "SANDBOX_LOCK_";
    for (const char c : name())
        variable += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return variable;
}

std::string Setting::option() const {
    std::string option = "--" + std::string(name());
    return flags[1] == '-' ? option : std::string(flags.substr(0, 2)) + "/" + option;
}

std::span<const Setting> all_settings() noexcept {
    return settings_table;
}

Result<Done> check(const Settings& settings) {
    if (settings.lease_ttl < shortest_ttl)
        return Error{Fault::usage, fmt::format("--lease-ttl {}: too short to {}: use {} or more",
                                               duration_text(settings.lease_ttl),
                                               settings.renew ? "renew" : "run anything in",
                                               duration_text(shortest_ttl))};
    if (!settings.container.empty() && settings.lease_ttl < shortest_ttl_with_container)
        return Error{Fault::usage,
                     fmt::format("--lease-ttl {}: too short to end a container in: with "
                                 "--container, use {} or more",
                                 duration_text(settings.lease_ttl),
                                 duration_text(shortest_ttl_with_container))};
    if (settings.quiet && settings.verbose)
        return Error{Fault::usage, "-q/--quiet and -v/--verbose exclude each other: choose one"};
    return Done{};
}

}  // namespace cli
