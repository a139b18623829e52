#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

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

/// The options beside the settings: flock's, and those that only make sense here.
struct Options {
    CLI::App app{"", "sandbox-lock"};
    std::vector<CLI::Option*> settings;
    CommandLine line;
    bool unused = false;
    bool shared = false;
    CLI::Option* shell_command = nullptr;
    CLI::Option* key = nullptr;

    Options() {
        app.set_help_flag();
        app.prefix_command();
        std::string* sink = &values.emplace_back();
        for (const Setting& setting : all_settings()) {
            const std::string flags{setting.flags};
            settings.push_back(setting.value.empty() ? app.add_flag(flags)
                                                     : app.add_option(flags, *sink));
            settings.back()->take_last();
        }
        app.add_flag("-h,--help", line.help);
        app.add_flag("-V,--version", line.version);
        app.add_option("--config", line.config)->take_last();
        shell_command = app.add_option("-c,--command", line.shell_command);
        app.add_flag("-x,-e,--exclusive,-o,--close", unused);
        app.add_flag("-s,--shared", shared);
        key = app.add_option("KEY", line.key);
    }

private:
    std::vector<std::string> values;
};

/// Option parsing has stopped at the first operand after KEY; what CLI11 did not take is the command,
/// unless an option stands there that it does not know.
Result<std::vector<std::string>> command_in(std::vector<std::string> rest) {
    if (!rest.empty() && rest.front() == "--")
        rest.erase(rest.begin());
    else if (!rest.empty() && rest.front().size() > 1 && rest.front().front() == '-')
        return usage(fmt::format("unknown option {}: see sandbox-lock --help", rest.front()));
    return rest;
}

Result<CommandLine> read_command_line(int argc, char** argv) {
    Options options;
    try {
        options.app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage(fmt::format("{}: see sandbox-lock --help", error.what()));
    }
    auto command = command_in(options.app.remaining());
    if (!command) return command.error();
    if (options.shared)
        return usage("-s/--shared: shared locks do not exist yet; leave it out for an exclusive one");
    CommandLine line = std::move(options.line);
    line.command = std::move(*command);
    line.has_key = options.key->count() > 0;
    line.has_shell_command = options.shell_command->count() > 0;
    for (std::size_t i = 0; i < options.settings.size(); ++i)
        if (options.settings[i]->count() > 0)
            line.settings[all_settings()[i].name()] = options.settings[i]->results().back();
    return line;
}

/// A setting's text and where it stands.
struct Origin {
    std::string place;
    std::string text;
    Fault fault;
};
using Origins = std::map<std::string_view, Origin>;

const Setting* setting_named(std::string_view name) noexcept {
    const auto found = std::ranges::find(all_settings(), name, &Setting::name);
    return found == all_settings().end() ? nullptr : &*found;
}

Result<Done> add_configured(Origins& origins, const std::string& path) {
    const auto values = read_configuration(path);
    if (!values) return values.error();
    for (const auto& [name, value] : *values) {
        const Setting* setting = setting_named(name);
        if (setting == nullptr)
            return Error{Fault::configuration,
                         fmt::format("configuration file '{}': unknown setting '{}': use the long "
                                     "options' names, such as lease-ttl",
                                     path, name)};
        origins[setting->name()] = {fmt::format("configuration file '{}': {}", path, name), value,
                                    Fault::configuration};
    }
    return Done{};
}

void add_environment(Origins& origins) {
    const auto add = [&](const Setting& setting, const std::string& variable) {
        const char* value = std::getenv(variable.c_str());
        if (value != nullptr && *value != '\0')
            origins[setting.name()] = {variable, value, Fault::configuration};
    };
    for (const Setting& setting : all_settings()) {
        if (setting.name() == "store") add(setting, "REDIS_URL");
        add(setting, setting.variable());
    }
}

/// All that is set anywhere; later places overwrite earlier ones.
Result<Origins> gather(const CommandLine& line) {
    Origins origins;
    const auto files = line.config.empty() ? default_configuration_files()
                                           : std::vector<std::string>{line.config};
    for (const auto& path : files)
        if (const auto added = add_configured(origins, path); !added) return added.error();
    add_environment(origins);
    for (const auto& [name, text] : line.settings)
        origins[name] = {setting_named(name)->option(), text, Fault::usage};
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

std::string store_origin(const Origins& origins) {
    const auto found = origins.find("store");
    return found == origins.end() ? "--store" : found->second.place;
}

}  // namespace

Result<Parsed> parse(int argc, char** argv) {
    auto line = read_command_line(argc, argv);
    const int command_start = line ? argc - static_cast<int>(line->command.size()) : argc;
    const bool wiped = wipe_passwords(argv, command_start);
    if (!line) return line.error();
    if (line->help) return Parsed{Answer{help_text()}};
    if (line->version) return Parsed{Answer{fmt::format("sandbox-lock {}\n", version)}};

    const auto origins = gather(*line);
    if (!origins) return origins.error();
    auto settings = settings_from(*origins);
    if (!settings) return settings.error();
    if (!line->has_key) return usage("no KEY given: sandbox-lock [OPTION]... KEY [--] COMMAND [ARG]...");
    auto key = guard::IsolationKey::parse(line->key);
    if (!key) return key.error();
    auto command = command_of(*line);
    if (!command) return command.error();
    return Parsed{Invocation{std::move(*settings), std::move(*key), std::move(*command),
                             store_origin(*origins), wiped}};
}

}  // namespace cli
