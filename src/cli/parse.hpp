#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/settings.hpp"
#include "container/target.hpp"
#include "guard/isolation_key.hpp"
#include "guard/result.hpp"

namespace cli {

/// What the user asked for, complete and checked.
struct Invocation {
    Settings settings;
    guard::IsolationKey key;
    std::vector<std::string> command;  ///< as it goes to exec; for -c the shell and its string
    std::optional<container::Target> container;  ///< what it starts there
    /// Where each setting that is not left at its default comes from, for messages, by name.
    std::map<std::string_view, std::string> places;
    bool password_was_in_argv = false;
};

/// Text for standard output, after which all is done: --help and --version.
struct Answer {
    std::string text;
};

/// `sandbox-lock status`: look at slots.
struct StatusRequest {
    Settings settings;
    std::map<std::string_view, std::string> places;
    std::vector<guard::IsolationKey> keys;  ///< none: all under the prefix
    bool json = false;
    bool watch = false;
};

/// `sandbox-lock break`: take a slot away from its holder.
struct BreakRequest {
    Settings settings;
    std::map<std::string_view, std::string> places;
    guard::IsolationKey key;
    std::string token;  ///< the holder that is meant; empty: ask
    bool force = false;
};

/// `sandbox-lock doctor`: find out whether the store is fit.
struct DoctorRequest {
    Settings settings;
    std::map<std::string_view, std::string> places;
    bool acl = false;  ///< only print which rights are needed
    bool json = false;
};

using Parsed = std::variant<Invocation, Answer, StatusRequest, BreakRequest, DoctorRequest>;

/// Reads the command line, then the environment, then the configuration files: the first that has a
/// setting counts. A password in a URL on the command line is overwritten there, so that ps(1)
/// shows it no longer.
[[nodiscard]] guard::Result<Parsed> parse(int argc, char** argv);

}  // namespace cli
