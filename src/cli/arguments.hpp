#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/settings.hpp"
#include "guard/result.hpp"

namespace cli {

using Words = std::span<char* const>;

/// Whether one of `flags` (as CLI11 takes them) may be among `words`. It may say yes for a value or
/// a word of the command; that is harmless.
[[nodiscard]] bool mentioned(std::string_view flags, Words words) noexcept;

/// The settings' options, as CLI11 knows them. It pays for each that it is told of, used or not,
/// and for all of them that would be half of a whole run; so it is told only of those that may be
/// there.
class SettingOptions {
public:
    /// Adds the options of `groups` to `app`.
    SettingOptions(CLI::App& app, Words words, std::span<const Group> groups);

    /// After the parsing: what was given, by the settings' names.
    [[nodiscard]] std::map<std::string_view, std::string> given() const;

    /// The file of --config; empty where it was not given.
    [[nodiscard]] const std::string& config() const noexcept { return config_; }

private:
    std::vector<std::pair<std::string_view, CLI::Option*>> options_;
    std::vector<std::string> texts_;
    std::string text_;  ///< what CLI11 assigns to; the options' own results are what is read
    std::string config_;
};

/// Overwrites a password in the value of --store, in place: the kernel shows argv to everybody
/// (proc(5), /proc/PID/cmdline). Looks at the first `count` words. Whether there was one.
bool wipe_passwords(char** argv, int count);

/// `text`, which quotes what CLI11 or we do not understand, without the values in `--option=VALUE`:
/// any of them may be a password.
[[nodiscard]] std::string without_values(std::string text, Words words);

/// Refuses `--option=` among the first `count` words: CLI11 would take the next word as the value,
/// and the KEY would become a label.
[[nodiscard]] guard::Result<guard::Done> check_values(char** argv, int count);

}  // namespace cli
