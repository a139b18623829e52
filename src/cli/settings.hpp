#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/clock.hpp"
#include "guard/result.hpp"

namespace cli {

enum class OnLost { term, warn };
/// What to do where the store is down from the start.
enum class IfDown { fail, wait, run };
enum class LogFormat { text, json };
enum class Verbosity { quiet, normal, verbose };

/// What the user can set, with the defaults of DESIGN section 6.
struct Settings {
    std::string store = "redis://127.0.0.1:6379";
    std::string key_prefix = "agentscope:sandbox:lock:";
    std::string password_file;
    std::string sentinel_user;
    std::string sentinel_password_file;
    std::string tls_cacert;
    std::string tls_cert;
    std::string tls_key;
    std::string tls_server_name;
    bool tls_insecure = false;
    guard::Duration connect_timeout = std::chrono::seconds{5};
    guard::Duration response_timeout = std::chrono::seconds{2};

    std::optional<guard::Duration> wait;  ///< none: for as long as it takes
    bool nonblock = false;
    int conflict_exit_code = 75;
    IfDown if_down = IfDown::fail;
    guard::Duration retry_interval = std::chrono::milliseconds{500};

    guard::Duration lease_ttl = std::chrono::seconds{30};
    bool renew = true;
    int min_replicas = 0;  ///< that must have an entry or a renewal before it counts
    OnLost on_lost = OnLost::term;
    guard::Duration kill_after = std::chrono::seconds{5};
    bool wait_descendants = false;

    std::vector<std::string> cleanups;  ///< shell commands, in their order
    guard::Duration cleanup_timeout = std::chrono::seconds{30};
    std::optional<guard::Duration> linger;  ///< none: for the ttl after a KILL, else not at all
    std::string container;                  ///< empty: the command's work is its processes

    std::optional<std::string> label;
    bool quiet = false;
    bool verbose = false;
    LogFormat log_format = LogFormat::text;
};

/// Texts of a setting that repeats, as one; no text of a setting has the separator.
[[nodiscard]] std::string joined_texts(const std::vector<std::string>& texts);

enum class Group { entering, lease, ending, store, output };
/// In the order of the help.
inline constexpr std::array all_groups{Group::entering, Group::lease, Group::ending, Group::store,
                                       Group::output};
[[nodiscard]] std::string_view title_of(Group group) noexcept;

/// A setting as it is defined once for all: command line, environment, configuration file, help,
/// manual page and completions.
struct Setting {
    std::string_view flags;  ///< as CLI11 takes them; the first long name is the setting's own
    std::string_view value;  ///< what the help calls its value; empty for a switch
    Group group;
    std::string_view help;
    /// Sets it from text; a switch gets `true` or `false`. Errors say what is accepted, not where
    /// the text came from.
    guard::Result<guard::Done> (*apply)(Settings& settings, std::string_view text);
    /// It may be given several times in one place; its texts come as `joined_texts`.
    bool repeats = false;

    /// `lease-ttl`: the key in a configuration file.
    [[nodiscard]] std::string_view name() const noexcept;
    /// `SANDBOX_LOCK_LEASE_TTL`
    [[nodiscard]] std::string variable() const;
    /// `-w/--wait`: how messages name the option.
    [[nodiscard]] std::string option() const;
};

[[nodiscard]] std::span<const Setting> all_settings() noexcept;

/// What no single setting can tell: a ttl too short for its renewal and the like.
[[nodiscard]] guard::Result<guard::Done> check(const Settings& settings);

}  // namespace cli
