#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/settings.hpp"
#include "support/process.hpp"
#include "support/program.hpp"
#include "support/pty.hpp"
#include "support/temp_dir.hpp"

using namespace support;

namespace {

using Offers = std::set<std::string>;

const Offers urls{"file:",         "redis://",          "rediss://",
                  "redis+unix://", "redis+sentinel://", "rediss+sentinel://"};

const std::string bash_completion = "/usr/share/bash-completion/bash_completion";

std::string completion_file(const std::string& name) {
    return support::source_root() + "/completions/" + name;
}

bool installed(const std::string& program) {
    std::istringstream path{std::getenv("PATH")};
    for (std::string dir; std::getline(path, dir, ':');)
        if (access((dir + "/" + program).c_str(), X_OK) == 0) return true;
    return false;
}

/// All long options, aliases included, and those beside the table.
std::vector<std::string> long_options() {
    std::vector<std::string> options{"--config", "--command", "--help", "--version"};
    for (const auto& setting : cli::all_settings()) {
        std::istringstream flags{std::string(setting.flags)};
        for (std::string flag; std::getline(flags, flag, ',');)
            if (flag.starts_with("--")) options.push_back(flag);
    }
    return options;
}

/// Those of doctor alone.
const Offers doctor_options{"--acl",      "--json",       "--lease-ttl",
                            "--no-renew", "--kill-after", "--retry-interval"};

/// Those that status, break and doctor have in common.
std::vector<std::string> inspection_options() {
    std::vector<std::string> options{"--config", "--help"};
    for (const auto& setting : cli::all_settings())
        if (setting.group == cli::Group::store || setting.group == cli::Group::output)
            options.push_back("--" + std::string(setting.name()));
    return options;
}

Offers lines_of(const std::string& text) {
    std::istringstream stream{text};
    Offers lines;
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    return lines;
}

/// `line` as readline gives it to a completion: cut at blanks, and at ':' and '=', which are words
/// of their own.
std::vector<std::string> cut_as_readline_does(const std::string& line) {
    std::vector<std::string> words{""};
    bool mark = false;
    for (const char c : line) {
        const bool is_mark = c == ':' || c == '=';
        if (c == ' ' || (is_mark != mark && !words.back().empty())) words.emplace_back();
        if (c != ' ') words.back() += c;
        mark = is_mark;
    }
    return words;
}

/// What bash offers at the end of `line`, as it would replace the last of the words that readline
/// cuts it into; and the options that are set for readline, as "compopt: -o nospace".
Offers bash_offers(const std::string& line) {
    static const std::string script = R"(
        . "$1"
        . "$2"
        compopt() { echo "compopt: $*"; }
        _own() { COMPREPLY=("own completion of ${#COMP_WORDS[@]} words"); }
        complete -F _own own-command
        COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
        COMP_LINE=$3 COMP_POINT=${#3} COMP_TYPE=9 COMP_KEY=9
        COMP_WORDS=("${@:4}")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _sandbox_lock sandbox-lock "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    )";
    std::vector<std::string> argv{
        "bash", "--norc", "--noprofile",   "-c",
        script, "bash",   bash_completion, completion_file("bash/sandbox-lock"),
        line};
    const auto words = cut_as_readline_does(line);
    argv.insert(argv.end(), words.begin(), words.end());
    Process bash(argv);
    bash.wait();
    CAPTURE(line);
    CHECK(bash.err() == "");
    return lines_of(bash.out());
}

/// What fish offers at the end of `line`, without the descriptions.
Offers fish_offers(const std::string& line) {
    const TempDir home;
    Process fish({"fish", "-c",
                  "source $argv[1]; complete -c own-command -x -a 'own-completion'; "
                  "complete -C $argv[2] | string replace -r '\t.*' ''",
                  completion_file("fish/sandbox-lock.fish"), line},
                 {.environment = {"HOME=" + (home / "."), "XDG_CONFIG_HOME", "XDG_DATA_HOME"}});
    fish.wait();
    CAPTURE(line);
    CHECK(fish.err() == "");
    return lines_of(fish.out());
}

bool has_bash() {
    const bool has = installed("bash") && access(bash_completion.c_str(), R_OK) == 0;
    if (!has) MESSAGE("bash or bash-completion is not installed: skipped");
    return has;
}

bool has(const std::string& shell) {
    if (installed(shell)) return true;
    MESSAGE(shell << " is not installed: skipped");
    return false;
}

/// An interactive zsh on a terminal that is large enough for any list.
class Zsh {
public:
    Zsh() {
        write_file(dir_ / ".zshrc",
                   "stty rows 200 cols 200\n"
                   "PS1='ready> ' LISTMAX=1000\n"
                   "fpath=($COMPLETIONS $fpath)\n"
                   "autoload -Uz compinit && compinit -u -D\n"
                   "_own() { compadd own-$CURRENT-completion }\n"
                   "compdef _own own-command\n");
        zsh_.emplace(std::vector<std::string>{"zsh", "-d", "-i"},
                     Launch{.environment = {"ZDOTDIR=" + (dir_ / "."), "TERM=dumb",
                                            "COMPLETIONS=" + completion_file("zsh")},
                            .terminal = pty_.slave()});
        REQUIRE(pty_.shows("ready> "));
    }

    void type(const std::string& text) { pty_.type(text); }
    bool shows(const std::string& text) { return pty_.shows(text); }

private:
    TempDir dir_;
    Pty pty_;
    std::optional<Process> zsh_;
};

}  // namespace

TEST_CASE("bash offers every long option, before and after KEY") {
    if (!has_bash()) return;
    const auto before = bash_offers("sandbox-lock --");
    const auto after = bash_offers("sandbox-lock agent:x --");
    for (const auto& option : long_options()) {
        CAPTURE(option);
        CHECK(before.contains(option));
        CHECK(after.contains(option));
    }
}

TEST_CASE("bash offers scopes for KEY, with no blank after the colon") {
    if (!has_bash()) return;
    const Offers scopes{"compopt: -o nospace", "session:", "user:", "agent:", "global:", "global"};
    auto first = scopes;
    first.insert({"status", "break", "doctor"});
    CHECK(bash_offers("sandbox-lock ") == first);
    CHECK(bash_offers("sandbox-lock status agent:x ") == scopes);
    CHECK(bash_offers("sandbox-lock status --j") == Offers{"--json"});
    const auto inspecting = bash_offers("sandbox-lock break --");
    for (const auto& option : inspection_options()) {
        CAPTURE(option);
        CHECK(inspecting.contains(option));
    }
    CHECK(bash_offers("sandbox-lock break --f") == Offers{"--force"});
    auto examining = doctor_options;
    for (const auto& option : inspecting)
        if (option != "--token" && option != "--force") examining.insert(option);
    CHECK(bash_offers("sandbox-lock doctor --") == examining);
    CHECK(bash_offers("sandbox-lock doctor ") == Offers{""});
    CHECK(bash_offers("sandbox-lock doctor --no-renew --store ").contains("file:"));
    CHECK(bash_offers("sandbox-lock break --store ").contains("file:"));
    CHECK(bash_offers("sandbox-lock -n -w 5 --label=a:b ") == scopes);
    CHECK(bash_offers("sandbox-lock ag") == Offers{"compopt: -o nospace", "agent:"});
    CHECK(bash_offers("sandbox-lock agent:") == Offers{""});
}

TEST_CASE("bash offers the values of options") {
    if (!has_bash()) return;
    CHECK(bash_offers("sandbox-lock --on-lost ") == Offers{"term", "warn"});
    CHECK(bash_offers("sandbox-lock --on-lost=w") == Offers{"warn"});
    CHECK(bash_offers("sandbox-lock --log-format=") == Offers{"text", "json"});
    CHECK(bash_offers("sandbox-lock -w ") == Offers{""});
    CHECK(bash_offers("sandbox-lock --store ").contains("redis+unix://"));
    CHECK(bash_offers("sandbox-lock --store ").contains("file:"));
    CHECK(bash_offers("sandbox-lock --store file:/et").contains("/etc"));
    CHECK(bash_offers("sandbox-lock --store redis:") == Offers{"compopt: -o nospace", "//"});
    const TempDir dir;
    write_file(dir / "some.toml", "");
    CHECK(bash_offers("sandbox-lock --config " + (dir / "so")).contains(dir / "some.toml"));
    for (const std::string option : {"--password-file", "--cacert", "--tls-cert", "--key"})
        CHECK(
            bash_offers("sandbox-lock " + option + "=" + (dir / "so")).contains(dir / "some.toml"));
}

TEST_CASE("bash lets the command's own completion take over") {
    if (!has_bash()) return;
    const Offers own{"own completion of 2 words"};
    CHECK(bash_offers("sandbox-lock agent:x -- own-command ") == own);
    CHECK(bash_offers("sandbox-lock agent:x own-command --nonbl") == own);
    CHECK(bash_offers("sandbox-lock -nw 5 --label=a -E 3 agent:x:y own-command ") == own);
    CHECK(bash_offers("sandbox-lock --store redis://u:p@h agent:x -q -- own-command ") == own);
    CHECK(bash_offers("sandbox-lock -- agent:x own-command ") == own);
    CHECK(bash_offers("sandbox-lock agent:x -- sandbox-lock user:y own-command ") == own);
    CHECK(bash_offers("sandbox-lock agent:x -- own-command --a=b c:") ==
          Offers{"own completion of 6 words"});
    CHECK(bash_offers("sandbox-lock agent:x -- own-comm").contains("own-command") == false);
    CHECK(bash_offers("sandbox-lock agent:x -- mkdi").contains("mkdir"));
    CHECK(bash_offers("sandbox-lock agent:x -c true ") == Offers{""});
}

TEST_CASE("fish offers every long option, before and after KEY") {
    if (!has("fish")) return;
    const auto before = fish_offers("sandbox-lock --");
    const auto after = fish_offers("sandbox-lock agent:x --");
    for (const auto& option : long_options()) {
        CAPTURE(option);
        CHECK(before.contains(option));
        CHECK(after.contains(option));
    }
}

TEST_CASE("fish offers scopes for KEY and the values of options") {
    if (!has("fish")) return;
    const Offers scopes{"session:", "user:", "agent:", "global:", "global"};
    auto first = scopes;
    first.insert({"status", "break", "doctor"});
    CHECK(fish_offers("sandbox-lock ") == first);
    CHECK(fish_offers("sandbox-lock status ") == scopes);
    CHECK(fish_offers("sandbox-lock status --j") == Offers{"--json"});
    const auto inspecting = fish_offers("sandbox-lock break --");
    for (const auto& option : inspection_options()) {
        CAPTURE(option);
        CHECK(inspecting.contains(option));
    }
    CHECK(fish_offers("sandbox-lock break --f") == Offers{"--force"});
    auto examining = doctor_options;
    for (const auto& option : inspecting)
        if (option != "--token" && option != "--force") examining.insert(option);
    CHECK(fish_offers("sandbox-lock doctor --") == examining);
    CHECK(fish_offers("sandbox-lock doctor ").empty());
    CHECK(fish_offers("sandbox-lock doctor --store ").contains("file:"));
    CHECK(fish_offers("sandbox-lock break --store ") == urls);
    CHECK(fish_offers("sandbox-lock -nw 5 --label a ") == scopes);
    CHECK(fish_offers("sandbox-lock --on-lost ") == Offers{"term", "warn"});
    CHECK(fish_offers("sandbox-lock --log-format=") ==
          Offers{"--log-format=text", "--log-format=json"});
    CHECK(fish_offers("sandbox-lock -w ").empty());
    CHECK(fish_offers("sandbox-lock --store ") == urls);
}

TEST_CASE("fish lets the command's own completion take over") {
    if (!has("fish")) return;
    const Offers own{"own-completion"};
    CHECK(fish_offers("sandbox-lock agent:x -- own-command ") == own);
    CHECK(fish_offers("sandbox-lock agent:x own-command ") == own);
    CHECK(fish_offers("sandbox-lock agent:x own-command -w ") == own);
    CHECK(fish_offers("sandbox-lock -nw 5 --label=a -E 3 agent:x:y own-command ") == own);
    CHECK(fish_offers("sandbox-lock --store redis://u:p@h agent:x -q -- own-command ") == own);
    CHECK(fish_offers("sandbox-lock -- agent:x own-command ") == own);
    CHECK(fish_offers("sandbox-lock agent:x -- sandbox-lock user:y own-command ") == own);
    CHECK(fish_offers("sandbox-lock agent:x own-command --nonbl").empty());
    CHECK(fish_offers("sandbox-lock agent:x -- mkdi").contains("mkdir"));
    CHECK(fish_offers("sandbox-lock agent:x -c true ").empty());
}

TEST_CASE("zsh offers every long option") {
    if (!has("zsh")) return;
    Zsh zsh;
    zsh.type("sandbox-lock --\t");
    for (const auto& option : long_options()) {
        CAPTURE(option);
        CHECK(zsh.shows(option + " "));
    }
}

TEST_CASE("zsh offers scopes for KEY") {
    if (!has("zsh")) return;
    Zsh zsh;
    zsh.type("sandbox-lock -nw 5 ag\t");
    CHECK(zsh.shows("agent:"));
    Zsh inspecting;
    inspecting.type("sandbox-lock status --js\t");
    CHECK(inspecting.shows("--json"));
    Zsh with_options;
    with_options.type("sandbox-lock status --\t");
    for (const auto& option : inspection_options()) {
        CAPTURE(option);
        CHECK(with_options.shows(option + " "));
    }
    Zsh examining;
    examining.type("sandbox-lock doctor --\t");
    for (const auto& option : doctor_options) {
        CAPTURE(option);
        CHECK(examining.shows(option + " "));
    }
    Zsh breaking;
    breaking.type("sandbox-lock break ag\t");
    CHECK(breaking.shows("agent:"));
}

TEST_CASE("zsh lets the command's own completion take over") {
    if (!has("zsh")) return;
    const std::pair<std::string, std::string> lines[] = {
        {"agent:x -- own-command ", "own-2-completion"},
        {"agent:x -q own-command -w ", "own-3-completion"},
        {"-w 5 --label=a agent:x:y own-command ", "own-2-completion"},
    };
    for (const auto& [start, own] : lines) {
        CAPTURE(start);
        Zsh zsh;
        zsh.type("sandbox-lock " + start + "\t");
        CHECK(zsh.shows(own));
    }
}
