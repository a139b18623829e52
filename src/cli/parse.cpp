#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>

#include "cli/configuration.hpp"
#include "cli/help.hpp"
#include "store/url.hpp"
#include "version.hpp"

namespace cli {
namespace {

using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;

Error usage(std::string text) {
    return {Fault::usage, std::move(text)};
}

/// What stands on the command line, taken apart but not understood yet.
struct CommandLine {
    std::map<std::string_view, std::string> settings;  ///< by name
    std::string config;
    std::string key;
    std::string shell_command;
    bool has_key = false;
    bool has_shell_command = false;
    bool help = false;
    bool version = false;
    std::vector<std::string> command;
};

/// Whether one of `flags` (as CLI11 takes them) may be among `words`. It may say yes for a value or
/// a word of the command; that is harmless.
bool mentioned(std::string_view flags, std::span<char* const> words) noexcept {
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

/// All options, as CLI11 knows them. It pays for each that it is told of, used or not, and for all
/// of them that would be half of a whole run; so it is told only of those that may be there.
struct Options {
    CLI::App app{"", "sandbox-lock"};
    std::vector<CLI::Option*> settings;  ///< in the table's order; null where not mentioned
    CommandLine line;
    bool unused = false;
    bool shared = false;
    CLI::Option* shell_command = nullptr;
    CLI::Option* key = nullptr;

    explicit Options(std::span<char* const> words) {
        app.set_help_flag();
        app.prefix_command();
        for (const Setting& setting : all_settings()) settings.push_back(add(setting, words));
        const auto flag = [&](const std::string& flags, bool& into) {
            if (mentioned(flags, words)) app.add_flag(flags, into);
        };
        flag("-h,--help", line.help);
        flag("-V,--version", line.version);
        flag("-x,-e,--exclusive,-o,--close", unused);
        flag("-s,--shared", shared);
        if (mentioned("--config", words)) app.add_option("--config", line.config)->take_last();
        if (mentioned("-c,--command", words))
            shell_command = app.add_option("-c,--command", line.shell_command);
        key = app.add_option("KEY", line.key);
    }

private:
    CLI::Option* add(const Setting& setting, std::span<char* const> words) {
        if (!mentioned(setting.flags, words)) return nullptr;
        const std::string flags{setting.flags};
        return (setting.value.empty() ? app.add_flag(flags) : app.add_option(flags, text_))
            ->take_last();
    }

    std::string text_;  ///< what CLI11 assigns to; the options' own results are what is read
};

bool given(const CLI::Option* option) noexcept {
    return option != nullptr && option->count() > 0;
}

/// Option parsing has stopped at the first operand after KEY; what CLI11 did not take is the
/// command, unless an option stands there that it does not know.
Result<std::vector<std::string>> command_in(std::vector<std::string> rest) {
    const bool marked = !rest.empty() && rest.front() == "--";
    // Twice in `sandbox-lock -- KEY -- COMMAND`; no command has such a name.
    while (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    if (marked) return rest;
    if (!rest.empty() && rest.front().size() > 1 && rest.front().front() == '-')
        return usage(fmt::format("unknown option {}: see sandbox-lock --help", rest.front()));
    return rest;
}

Result<CommandLine> read_command_line(int argc, char** argv) {
    Options options{{argv, static_cast<std::size_t>(argc)}};
    try {
        options.app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage(fmt::format("{}: see sandbox-lock --help", error.what()));
    }
    auto command = command_in(options.app.remaining());
    if (!command) return command.error();
    if (options.shared)
        return usage(
            "-s/--shared: shared locks do not exist yet; leave it out for an exclusive one");
    CommandLine line = std::move(options.line);
    line.command = std::move(*command);
    line.has_key = given(options.key);
    line.has_shell_command = given(options.shell_command);
    for (std::size_t i = 0; i < options.settings.size(); ++i)
        if (given(options.settings[i]))
            line.settings[all_settings()[i].name()] = options.settings[i]->results().back();
    return line;
}

/// A setting's text and where it stands.
struct Origin {
    std::string place;
    std::string text;
    Fault fault;
    int rank;  ///< of the place: a higher one counts
};
using Origins = std::map<std::string_view, Origin>;
enum Rank : int { system_file, user_file, environment, command_line };

/// Settings of which a stronger place's one also does away with a weaker place's other.
std::string_view rival_of(std::string_view name) noexcept {
    constexpr std::array<std::array<std::string_view, 2>, 2> rivals{
        {{"quiet", "verbose"}, {"nonblock", "wait"}}};
    for (const auto& [one, other] : rivals) {
        if (name == one) return other;
        if (name == other) return one;
    }
    return {};
}

/// Called in rising order of rank.
void note(Origins& origins, std::string_view name, Origin origin) {
    const auto rival = origins.find(rival_of(name));
    if (rival != origins.end() && rival->second.rank < origin.rank) origins.erase(rival);
    origins[name] = std::move(origin);
}

const Setting* setting_named(std::string_view name) noexcept {
    const auto found = std::ranges::find(all_settings(), name, &Setting::name);
    return found == all_settings().end() ? nullptr : &*found;
}

Result<Done> add_configured(Origins& origins, const std::string& path, int rank) {
    const auto values = read_configuration(path);
    if (!values) return values.error();
    for (const auto& [name, value] : *values) {
        const Setting* setting = setting_named(name);
        if (setting == nullptr)
            return Error{Fault::configuration,
                         fmt::format("configuration file '{}': unknown setting '{}': use the long "
                                     "options' names, such as lease-ttl",
                                     path, name)};
        note(origins, setting->name(),
             {fmt::format("configuration file '{}': {}", path, name), value, Fault::configuration,
              rank});
    }
    return Done{};
}

void add_environment(Origins& origins) {
    const auto add = [&](const Setting& setting, const std::string& variable) {
        const char* value = std::getenv(variable.c_str());
        if (value != nullptr && *value != '\0')
            note(origins, setting.name(), {variable, value, Fault::configuration, environment});
    };
    for (const Setting& setting : all_settings()) {
        if (setting.name() == "store") add(setting, "REDIS_URL");
        add(setting, setting.variable());
    }
}

/// All that is set anywhere; later places overwrite earlier ones.
Result<Origins> gather(const CommandLine& line) {
    Origins origins;
    const auto files =
        line.config.empty() ? default_configuration_files() : std::vector<std::string>{line.config};
    int rank = system_file;
    for (const auto& path : files)
        if (const auto added = add_configured(origins, path, rank++); !added) return added.error();
    add_environment(origins);
    for (const auto& [name, text] : line.settings)
        note(origins, name, {setting_named(name)->option(), text, Fault::usage, command_line});
    return origins;
}

Result<Settings> settings_from(const Origins& origins) {
    Settings settings;
    for (const auto& [name, origin] : origins)
        if (const auto set = setting_named(name)->apply(settings, origin.text); !set)
            return Error{origin.fault, origin.place + ": " + set.error().text};
    if (const auto sound = check(settings); !sound) return sound.error();
    return settings;
}

/// Overwrites the password in one word of argv, in place. The kernel shows argv to everybody:
/// proc(5), /proc/PID/cmdline.
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

/// Wipes the values of --store among our own options; the command's words are not ours to touch.
bool wipe_passwords(char** argv, int command_start) {
    bool wiped = false;
    for (int i = 1; i < command_start; ++i) {
        const bool joined = std::string_view(argv[i]).starts_with("--store=");
        const bool apart = std::string_view(argv[i - 1]) == "--store";
        if (joined || apart) wiped = wipe_word(argv[i]) || wiped;
    }
    return wiped;
}

/// CLI11 takes the next word where a value is empty after '=': the KEY would become a label.
Result<Done> check_values(char** argv, int command_start) {
    for (int i = 1; i < command_start; ++i) {
        const std::string_view word{argv[i]};
        if (word.starts_with("--") && word.size() > 3 && word.ends_with('='))
            return usage(
                fmt::format("{} needs a value after the '='", word.substr(0, word.size() - 1)));
    }
    return Done{};
}

Result<std::vector<std::string>> command_of(const CommandLine& line) {
    if (line.has_shell_command && !line.command.empty())
        return usage("-c/--command and a COMMAND exclude each other: give one of them");
    if (!line.has_shell_command) {
        if (line.command.empty())
            return usage("no COMMAND given: sandbox-lock [OPTION]... KEY [--] COMMAND [ARG]...");
        return line.command;
    }
    const char* shell = std::getenv("SHELL");
    return std::vector<std::string>{shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c",
                                    line.shell_command};
}

std::map<std::string_view, std::string> places_of(const Origins& origins) {
    std::map<std::string_view, std::string> places;
    for (const auto& [name, origin] : origins) places.emplace(name, origin.place);
    return places;
}

}  // namespace

Result<Parsed> parse(int argc, char** argv) {
    auto line = read_command_line(argc, argv);
    const int command_start = line ? argc - static_cast<int>(line->command.size()) : argc;
    const bool wiped = wipe_passwords(argv, command_start);
    if (!line) return line.error();
    if (const auto sound = check_values(argv, command_start); !sound) return sound.error();
    if (line->help) return Parsed{Answer{help_text()}};
    if (line->version) return Parsed{Answer{fmt::format("sandbox-lock {}\n", version)}};

    const auto origins = gather(*line);
    if (!origins) return origins.error();
    auto settings = settings_from(*origins);
    if (!settings) return settings.error();
    if (!line->has_key)
        return usage("no KEY given: sandbox-lock [OPTION]... KEY [--] COMMAND [ARG]...");
    auto key = guard::IsolationKey::parse(line->key);
    if (!key) return key.error();
    auto command = command_of(*line);
    if (!command) return command.error();
    return Parsed{Invocation{std::move(*settings), std::move(*key), std::move(*command),
                             places_of(*origins), wiped}};
}

}  // namespace cli
