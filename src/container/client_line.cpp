#include "container/client_line.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace container {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;
using Words = std::vector<std::string>;

/// A few of an engine's options, as far as is needed to see where they end. An option that is not
/// among its switches has a value: in its own word after `=`, or in the next one.
struct Syntax {
    std::span<const std::string_view> switches;
    std::string_view short_switches;
};

constexpr std::array<std::string_view, 10> program_switches{
    "--debug",        "--debug-full",        "--tls",    "--tlsverify", "--remote",
    "--experimental", "--insecure-registry", "--syslog", "--noout",     "--transient-store"};
constexpr std::array<std::string_view, 19> run_switches{"--detach",
                                                        "--disable-content-trust",
                                                        "--env-host",
                                                        "--http-proxy",
                                                        "--init",
                                                        "--interactive",
                                                        "--no-healthcheck",
                                                        "--no-hosts",
                                                        "--oom-kill-disable",
                                                        "--passwd",
                                                        "--privileged",
                                                        "--publish-all",
                                                        "--quiet",
                                                        "--read-only",
                                                        "--replace",
                                                        "--rm",
                                                        "--rmi",
                                                        "--sig-proxy",
                                                        "--tty"};
constexpr std::array<std::string_view, 4> exec_switches{"--detach", "--interactive", "--privileged",
                                                        "--tty"};
constexpr Syntax program_syntax{program_switches, "Dr"};
constexpr Syntax run_syntax{run_switches, "ditPq"};
constexpr Syntax exec_syntax{exec_switches, "dit"};

/// An option as it stands in one or two words: its letter or long name, and its value.
struct Option {
    std::string name;
    std::string value;
};

/// Reads options from `at` on; leaves `at` at the first word that is none.
std::vector<Option> read_options(const Words& words, std::size_t& at, const Syntax& syntax) {
    std::vector<Option> options;
    const auto value_of_next = [&] { return at + 1 < words.size() ? words[++at] : std::string(); };
    for (; at < words.size() && words[at].size() > 1 && words[at].front() == '-'; ++at) {
        const std::string word = words[at];
        if (word == "--") {
            ++at;
            break;
        }
        if (word.starts_with("--")) {
            const auto equals = word.find('=');
            const std::string name = word.substr(0, equals);
            if (equals != word.npos)
                options.push_back({name, word.substr(equals + 1)});
            else if (std::ranges::find(syntax.switches, name) != syntax.switches.end())
                options.push_back({name, "true"});
            else
                options.push_back({name, value_of_next()});
            continue;
        }
        for (std::size_t i = 1; i < word.size(); ++i) {
            const std::string name{'-', word[i]};
            if (syntax.short_switches.find(word[i]) != std::string_view::npos) {
                options.push_back({name, "true"});
                continue;
            }
            std::string rest = word.substr(i + 1);
            if (rest.empty()) rest = value_of_next();
            if (rest.starts_with('=')) rest.erase(0, 1);
            options.push_back({name, rest});
            break;
        }
    }
    return options;
}

/// The value that counts where an option is given twice: the last one.
std::optional<std::string> value_of(const std::vector<Option>& options, std::string_view name,
                                    std::string_view letter = {}) {
    const auto found = std::find_if(options.rbegin(), options.rend(), [&](const Option& option) {
        return option.name == name || (!letter.empty() && option.name == letter);
    });
    return found == options.rend() ? std::nullopt : std::optional(found->value);
}

bool is_on(const std::vector<Option>& options, std::string_view name,
           std::string_view letter = {}) {
    const auto value = value_of(options, name, letter);
    return value && *value != "false" && *value != "0";
}

Error refuse(const std::string& why) {
    return {Fault::usage, "--container: " + why};
}

bool is_client(std::string_view program) {
    constexpr std::array<std::string_view, 4> clients{"docker", "podman", "podman-remote",
                                                      "nerdctl"};
    program.remove_prefix(program.rfind('/') + 1);
    return std::ranges::find(clients, program) != clients.end();
}

/// The options that mark an exec in the container `operand`.
Result<Words> exec_marks(const std::vector<Option>& options, const std::string& operand,
                         Target& target) {
    if (std::ranges::any_of(
            options, [](const Option& option) { return option.value.starts_with(mark_variable); }))
        return refuse(std::string(mark_variable) + " is the mark of --container: leave it out");
    if (operand != target.name)
        return refuse("the command runs in '" + operand + "', not in '" + target.name +
                      "': name the same container (an option's value may need to be written as "
                      "--option=VALUE)");
    if (const auto user = value_of(options, "--user", "-u")) target.as_user = {"--user", *user};
    if (is_on(options, "--privileged")) target.as_user.emplace_back("--privileged");
    return Words{"--env", std::string(mark_variable) + "=" + target.mark};
}

/// The options that mark a container made of the image `operand`.
Result<Words> run_marks(const std::vector<Option>& options, const std::string& operand,
                        Target& target) {
    if (operand.empty()) return refuse("the command names no image");
    const auto name = value_of(options, "--name");
    if (name && *name != target.name)
        return refuse("the command names its container '" + *name + "', not '" + target.name + "'");
    target.removes = is_on(options, "--rm");
    Words marks{"--label", std::string(mark_label) + "=" + target.mark};
    if (!name) marks.insert(marks.end(), {"--name", target.name});
    return marks;
}

}  // namespace

bool is_container_name(const std::string& name) noexcept {
    constexpr std::string_view legal =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return !name.empty() && name.front() != '-' && name.find_first_not_of(legal) == name.npos;
}

Result<MarkedLine> mark_line(const Words& command, const std::string& name,
                             const std::string& mark) {
    if (!is_client(command.front()))
        return refuse("'" + command.front() +
                      "' is not docker, podman or nerdctl: use --cleanup, which takes any command");
    std::size_t at = 1;
    (void)read_options(command, at, program_syntax);
    const auto place = [&] { return command.begin() + static_cast<std::ptrdiff_t>(at); };
    const auto word = [&] { return at < command.size() ? command[at] : std::string(); };
    at = std::min(at, command.size());
    Target target{.client = {command.begin(), place()}, .name = name, .mark = mark};
    if (word() == "container") ++at;
    const std::string verb = word();
    target.is_exec = verb == "exec";
    if (!target.is_exec && verb != "run")
        return refuse("'" + verb +
                      "' is neither run nor exec: use --cleanup, which takes any command");

    const auto behind_verb = ++at;
    const auto options = read_options(command, at, target.is_exec ? exec_syntax : run_syntax);
    if (is_on(options, "--detach", "-d"))
        return refuse(std::string("-d/--detach would free the slot while the ") +
                      (target.is_exec ? "command" : "container") + " runs: leave it out");
    const auto marks =
        target.is_exec ? exec_marks(options, word(), target) : run_marks(options, word(), target);
    if (!marks) return marks.error();
    MarkedLine line{command, std::move(target)};
    line.command.insert(line.command.begin() + static_cast<std::ptrdiff_t>(behind_verb),
                        marks->begin(), marks->end());
    return line;
}

}  // namespace container
