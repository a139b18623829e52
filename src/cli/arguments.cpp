#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "store/url.hpp"

namespace cli {
namespace {

using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;

/// Overwrites the password in one word of argv.
bool wipe_word(char* word) {
    const std::string_view text{word};
    const auto secret = store::password_in(text);
    if (secret.empty()) return false;
    const auto start = static_cast<std::size_t>(secret.data() - text.data());
    const std::string rest{text.substr(start + secret.size())};
    std::memset(word + start, 0, text.size() - start);
    const auto stars = std::min(secret.size(), store::redacted_secret.size());
    std::memset(word + start, '*', stars);
    rest.copy(word + start + stars, rest.size());
    return true;
}

}  // namespace

bool mentioned(std::string_view flags, Words words) noexcept {
    const auto is_in = [](std::string_view flag, std::string_view word) {
        if (word.size() < 2 || word[0] != '-') return false;
        if (flag[1] != '-') return word[1] != '-' && word.find(flag[1], 1) != word.npos;
        return word.starts_with(flag) && (word.size() == flag.size() || word[flag.size()] == '=');
    };
    while (!flags.empty()) {
        const auto flag = flags.substr(0, flags.find(','));
        if (std::ranges::any_of(words, [&](const char* word) { return is_in(flag, word); }))
            return true;
        flags.remove_prefix(std::min(flag.size() + 1, flags.size()));
    }
    return false;
}

SettingOptions::SettingOptions(CLI::App& app, Words words, std::span<const Group> groups) {
    for (const Setting& setting : all_settings()) {
        if (std::ranges::find(groups, setting.group) == groups.end()) continue;
        if (!mentioned(setting.flags, words)) continue;
        const std::string flags{setting.flags};
        auto* option = setting.repeats         ? app.add_option(flags, texts_)
                       : setting.value.empty() ? app.add_flag(flags)
                                               : app.add_option(flags, text_);
        if (setting.repeats)
            option->allow_extra_args(false)->take_all();
        else
            option->take_last();
        options_.emplace_back(setting.name(), option);
    }
    if (mentioned("--config", words)) app.add_option("--config", config_)->take_last();
}

std::map<std::string_view, std::string> SettingOptions::given() const {
    std::map<std::string_view, std::string> values;
    for (const auto& [name, option] : options_)
        if (option->count() > 0) values[name] = joined_texts(option->reduced_results());
    return values;
}

bool wipe_passwords(char** argv, int count) {
    bool wiped = false;
    for (int i = 1; i < count; ++i) {
        const bool joined = std::string_view(argv[i]).starts_with("--store=");
        const bool apart = std::string_view(argv[i - 1]) == "--store";
        if (joined || apart) wiped = wipe_word(argv[i]) || wiped;
    }
    return wiped;
}

std::string without_values(std::string text, Words words) {
    for (const std::string_view word : words) {
        const auto equals = word.find('=');
        if (!word.starts_with('-') || equals == word.npos) continue;
        const auto at = text.find(word);
        if (at != text.npos) text.erase(at + equals, word.size() - equals);
    }
    return text;
}

Result<Done> check_values(char** argv, int count) {
    for (int i = 1; i < count; ++i) {
        const std::string_view word{argv[i]};
        if (word.starts_with("--") && word.size() > 3 && word.ends_with('='))
            return Error{Fault::usage, fmt::format("{} needs a value after the '='",
                                                   word.substr(0, word.size() - 1))};
    }
    return Done{};
}

}  // namespace cli
