#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <map>

#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "cli/inspection.hpp"
#include "cli/origins.hpp"
#include "container/client_line.hpp"
#include "guard/random_id.hpp"
#include "version.hpp"

namespace cli {
namespace {

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

struct Options {
    CLI::App app{"", "sandbox-lock"};
    CommandLine line;
    SettingOptions settings;
    bool unused = false;
    bool shared = false;
    CLI::Option* shell_command = nullptr;
    CLI::Option* key = nullptr;

    explicit Options(Words words) : settings(app, words, all_groups) {
        app.set_help_flag();
        app.prefix_command();
        const auto flag = [&](const std::string& flags, bool& into) {
            if (mentioned(flags, words)) app.add_flag(flags, into);
        };
        flag("-h,--help", line.help);
        flag("-V,--version", line.version);
        flag("-x,-e,--exclusive,-o,--close", unused);
        flag("-s,--shared", shared);
        if (mentioned("-c,--command", words))
            shell_command = app.add_option("-c,--command", line.shell_command);
        key = app.add_option("KEY", line.key);
    }
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
        return usage(fmt::format("unknown option {}: see sandbox-lock --help",
                                 rest.front().substr(0, rest.front().find('='))));
    return rest;
}

Result<CommandLine> read_command_line(int argc, char** argv) {
    Options options{{argv, static_cast<std::size_t>(argc)}};
    try {
        options.app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage(
            fmt::format("{}: see sandbox-lock --help",
                        without_values(error.what(), {argv, static_cast<std::size_t>(argc)})));
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
    line.settings = options.settings.given();
    line.config = options.settings.config();
    return line;
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

/// With --container, what the command starts there is marked.
Result<container::MarkedLine> marked(const CommandLine& line,
                                     const std::vector<std::string>& command,
                                     const std::string& name) {
    if (line.has_shell_command)
        return usage(
            "--container: a shell command cannot be seen through: write docker run or "
            "docker exec without -c, or use --cleanup");
    return container::mark_line(command, name, guard::random_id());
}

}  // namespace

Result<Parsed> parse(int argc, char** argv) {
    if (auto inspection = parse_inspection(argc, argv)) return std::move(*inspection);
    auto line = read_command_line(argc, argv);
    const int command_start = line ? argc - static_cast<int>(line->command.size()) : argc;
    const bool wiped = wipe_passwords(argv, command_start);
    if (!line) return line.error();
    if (const auto sound = check_values(argv, command_start); !sound) return sound.error();
    if (line->help) return Parsed{Answer{help_text()}};
    if (line->version) return Parsed{Answer{fmt::format("sandbox-lock {}\n", version)}};

    auto gathered = gather(line->settings, line->config);
    if (!gathered) return gathered.error();
    if (!line->has_key)
        return usage("no KEY given: sandbox-lock [OPTION]... KEY [--] COMMAND [ARG]...");
    auto key = guard::IsolationKey::parse(line->key);
    if (!key) return key.error();
    auto command = command_of(*line);
    if (!command) return command.error();
    std::optional<container::Target> target;
    if (const auto& name = gathered->settings.container; !name.empty()) {
        auto work = marked(*line, *command, name);
        if (!work) return work.error();
        *command = std::move(work->command);
        target = std::move(work->target);
    }
    return Parsed{Invocation{std::move(gathered->settings), std::move(*key), std::move(*command),
                             std::move(target), std::move(gathered->places), wiped}};
}

}  // namespace cli
