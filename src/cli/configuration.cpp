#include "cli/configuration.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

namespace cli {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;

constexpr const char* file_name = "sandbox-lock.toml";

constexpr std::string_view blanks = " \t";

void skip_blanks(std::string_view& text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
}

/// Nothing more, or a comment.
bool is_over(std::string_view text) noexcept {
    skip_blanks(text);
    return text.empty() || text.starts_with('#');
}

std::string_view take_name(std::string_view& text) noexcept {
    const auto end = std::ranges::find_if_not(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    });
    const auto name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(name.size());
    return name;
}

/// In '...' all stands for itself; in "..." a backslash stands before itself or a quote, and TOML's
/// other escapes are refused.
std::optional<std::string> take_quoted(std::string_view& text) {
    const char quote = text.front();
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == quote) {
            text.remove_prefix(i + 1);
            return value;
        }
        if (quote == '"' && text[i] == '\\') {
            ++i;
            if (i == text.size() || (text[i] != '"' && text[i] != '\\')) break;
        }
        value += text[i];
    }
    return std::nullopt;
}

/// A number, true or false; a word, too, which TOML would have in quotes.
std::optional<std::string> take_word(std::string_view& text, std::string_view ends) {
    const auto word = text.substr(0, text.find_first_of(ends));
    if (word.empty() || word.find_first_of("\"',#") != word.npos || word.front() == '[' ||
        word.front() == '{')
        return std::nullopt;
    text.remove_prefix(word.size());
    return std::string(word);
}

std::optional<std::string> take_value(std::string_view& text, std::string_view ends) {
    const bool quoted = text.starts_with('"') || text.starts_with('\'');
    return quoted ? take_quoted(text) : take_word(text, ends);
}

/// One value, or a list of them: `[value, ...]`.
std::optional<std::vector<std::string>> take_values(std::string_view& text) {
    if (!text.starts_with('[')) {
        auto value = take_value(text, blanks);
        return value ? std::optional(std::vector{std::move(*value)}) : std::nullopt;
    }
    std::vector<std::string> values;
    do {
        text.remove_prefix(1);
        skip_blanks(text);
        auto value = take_value(text, " \t,]");
        if (!value) return std::nullopt;
        values.push_back(std::move(*value));
        skip_blanks(text);
    } while (text.starts_with(','));
    if (!text.starts_with(']')) return std::nullopt;
    text.remove_prefix(1);
    return values;
}

/// Where `line` has one; else why it makes no sense. It is never repeated: it may be a password.
Result<std::optional<Configured>> read_line(std::string_view line) {
    const auto refuse = [](std::string why) { return Error{Fault::configuration, std::move(why)}; };
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::ranges::any_of(line, [](char c) { return c >= 0 && c < ' ' && c != '\t'; }))
        return refuse("a control character");
    if (is_over(line)) return std::optional<Configured>{};
    skip_blanks(line);
    if (line.front() == '[') return refuse("a table; it takes 'name = value' lines only");

    const auto name = take_name(line);
    skip_blanks(line);
    if (name.empty() || !line.starts_with('=')) return refuse("not of the form 'name = value'");
    line.remove_prefix(1);
    skip_blanks(line);
    auto values = take_values(line);
    if (!values || !is_over(line))
        return refuse(fmt::format(
            "'{}' takes a value, in quotes if it has blanks, and in '...' if it has backslashes",
            name));
    return std::optional(Configured{std::string(name), std::move(*values)});
}

}  // namespace

std::vector<std::string> default_configuration_files() {
    std::vector<std::string> files;
    const auto add = [&](const std::string& path) {
        if (access(path.c_str(), F_OK) == 0) files.push_back(path);
    };
    const auto variable = [](const char* name) -> std::string {
        const char* value = std::getenv(name);
        return value == nullptr ? "" : value;
    };
    add(std::string("/etc/") + file_name);
    if (const auto home = variable("XDG_CONFIG_HOME"); !home.empty())
        add(home + "/" + file_name);
    else if (const auto user = variable("HOME"); !user.empty())
        add(user + "/.config/" + file_name);
    return files;
}

Result<std::vector<Configured>> read_configuration(const std::string& path) {
    std::ifstream file{path};
    std::vector<Configured> values;
    int number = 0;
    const auto refuse = [&](const std::string& why) {
        return Error{Fault::configuration,
                     fmt::format("configuration file '{}': line {}: {}", path, number, why)};
    };
    for (std::string line; std::getline(file, line);) {
        ++number;
        auto value = read_line(line);
        if (!value) return refuse(value.error().text);
        if (!*value) continue;
        if (std::ranges::find(values, (*value)->name, &Configured::name) != values.end())
            return refuse(fmt::format("'{}' for the second time", (*value)->name));
        values.push_back(std::move(**value));
    }
    if (!file.eof())
        return Error{Fault::configuration,
                     "cannot read configuration file '" + path + "': " + std::strerror(errno)};
    return values;
}

}  // namespace cli
