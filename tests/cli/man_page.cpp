#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/configuration.hpp"
#include "cli/exit_status.hpp"
#include "cli/help.hpp"
#include "cli/settings.hpp"
#include "container/target.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

using namespace support;

namespace {

using Names = std::set<std::string>;
using Words = std::vector<std::string>;

std::string page_path() {
    return source_root() + "/man/sandbox-lock.1";
}

/// A line of mdoc(7): a macro's line, with its words, or text as one word.
struct Line {
    bool macro;
    Words words;
    [[nodiscard]] bool is(const std::string& name) const { return macro && words.front() == name; }
};

Words split(const std::string& text) {
    std::istringstream stream{text};
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

std::string with_blanks(std::string alternatives) {
    std::ranges::replace(alternatives, '|', ' ');
    return alternatives;
}

std::string without(std::string text, const std::string& part) {
    for (auto at = text.find(part); at != text.npos; at = text.find(part))
        text.erase(at, part.size());
    return text;
}

/// The page's lines, joined where a backslash ends one, without zero-width marks.
std::vector<Line> read_page() {
    auto text = without(without(read_file(page_path()), "\\\n"), "\\&");
    std::istringstream stream{text};
    std::vector<Line> lines;
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with('.'))
            lines.push_back({true, split(line.substr(1))});
        else
            lines.push_back({false, {line}});
    return lines;
}

bool is_macro(const std::string& word) {
    return word.size() == 2 && std::isupper(word[0]) != 0 && std::islower(word[1]) != 0;
}

bool is_punctuation(const std::string& word) {
    return word.size() == 1 && std::ispunct(word[0]) != 0 && word != "-";
}

/// The arguments of `macro` on a line where it may stand among others.
Words arguments_of(const std::string& macro, const Words& words) {
    Words found;
    bool inside = false;
    for (const auto& word : words)
        if (is_macro(word))
            inside = word == macro;
        else if (inside && !is_punctuation(word))
            found.push_back(word);
    return found;
}

Names options_in(const Words& words) {
    Names options;
    for (const auto& flag : arguments_of("Fl", words)) options.insert("-" + flag);
    return options;
}

/// A line's words as they are read, without macros.
std::string plain(const Line& line) {
    if (!line.macro) return line.words.front();
    std::string text;
    for (const auto& word : line.words)
        if (!is_macro(word)) text += (text.empty() || is_punctuation(word) ? "" : " ") + word;
    return text;
}

/// An item of a list: its head and the text below.
struct Item {
    Words head;
    std::string subsection;
    std::string text;
};

/// The outermost items of section `name`.
std::vector<Item> items_of(const std::string& name) {
    std::vector<Item> items;
    std::string section;
    std::string subsection;
    int displays = 0;
    for (const auto& line : read_page()) {
        if (line.is("Sh") || line.is("Ss")) {
            auto& title = line.is("Sh") ? section : subsection;
            title = plain(line);
            if (line.is("Sh")) subsection.clear();
        } else if (line.is("Bd") || line.is("Ed")) {
            displays += line.is("Bd") ? 1 : -1;
        } else if (section == name && line.is("It")) {
            items.push_back({Words(line.words.begin() + 1, line.words.end()), subsection, ""});
        } else if (section == name && displays == 0 && !items.empty()) {
            items.back().text += plain(line) + " ";
        }
    }
    return items;
}

Names flags_of(const cli::Setting& setting) {
    std::istringstream stream{std::string(setting.flags)};
    Names names;
    for (std::string name; std::getline(stream, name, ',');) names.insert(name);
    return names;
}

/// What stands in brackets at the end of a setting's help.
std::optional<std::string> default_of(const cli::Setting& setting) {
    const std::string help{setting.help};
    if (!help.ends_with(']')) return std::nullopt;
    const auto start = help.rfind('[') + 1;
    return help.substr(start, help.size() - start - 1);
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

Names matches(const std::string& text, const std::string& pattern) {
    const std::regex regex{pattern};
    Names found;
    for (std::sregex_iterator at{text.begin(), text.end(), regex}, end; at != end; ++at)
        found.insert(at->str());
    return found;
}

/// Options that stand anywhere in the page but in examples, which show other programs, too.
Names documented_options() {
    Names options;
    int displays = 0;
    for (const auto& line : read_page()) {
        displays += line.is("Bd") ? 1 : line.is("Ed") ? -1 : 0;
        if (line.macro && displays == 0) options.merge(options_in(line.words));
    }
    options.erase("--");
    return options;
}

}  // namespace

TEST_CASE("manual page: each setting has its item, with all aliases, its value and its default") {
    const auto items = items_of("OPTIONS");
    for (const auto& setting : cli::all_settings()) {
        const std::string name{setting.name()};
        CAPTURE(name);
        const auto item = std::ranges::find_if(
            items, [&](const Item& it) { return options_in(it.head).contains("--" + name); });
        REQUIRE(item != items.end());
        CHECK(item->subsection == cli::title_of(setting.group));
        CHECK(options_in(item->head) == flags_of(setting));

        const std::string value{setting.value};
        if (value.find('|') == value.npos)
            CHECK(arguments_of("Ar", item->head) == split(lower(value)));
        else
            CHECK(arguments_of("Cm", item->head) == split(with_blanks(value)));

        if (const auto preset = default_of(setting)) {
            CAPTURE(*preset);
            CAPTURE(item->text);
            const bool said = item->text.find("default " + *preset) != std::string::npos ||
                              item->text.find("default: the " + *preset) != std::string::npos;
            CHECK(said);
        }
    }
}

TEST_CASE("manual page: whatever option --help names is there") {
    const auto documented = documented_options();
    for (const auto& match : matches(cli::help_text(), "(^|[ ,])--?[a-zA-Z][a-z-]*")) {
        const auto option = match.substr(match.find('-'));
        CAPTURE(option);
        CHECK(documented.contains(option));
    }
}

TEST_CASE("manual page: it names no option that the program does not know") {
    for (const auto& option : documented_options()) {
        CAPTURE(option);
        const auto is_known = [&](std::vector<std::string> before, const char* refusal) {
            before.push_back(option);
            auto run = sandbox_lock("redis://127.0.0.1:" + free_port(), before);
            run.wait();
            return run.err().find(refusal) == std::string::npos;
        };
        const bool known = is_known({}, "unknown option") ||
                           is_known({"status"}, "were not expected") ||
                           is_known({"break", "agent:x"}, "were not expected") ||
                           is_known({"doctor"}, "were not expected");
        CHECK(known);
    }
    auto run = sandbox_lock("", {"--no-such"});
    CHECK(run.wait() == cli::usage_error);
    CHECK(run.err().find("unknown option") != std::string::npos);
}

TEST_CASE("manual page: the environment is that of the settings and that of the command") {
    Names variables;
    for (const auto& setting : cli::all_settings()) variables.insert(setting.variable());
    variables.insert(
        {"REDIS_URL", "REDISCLI_AUTH", "SANDBOX_LOCK_SENTINEL_AUTH", "SHELL", "XDG_CONFIG_HOME"});

    auto run =
        sandbox_lock(shared_redis().unix_url(), {"--cleanup", "env", "agent:man", "--", "env"});
    REQUIRE(run.wait() == 0);
    CHECK(matches(run.out(), "SANDBOX_LOCK_REASON").empty());
    variables.insert(container::mark_variable);
    auto given = matches(run.err(), "SANDBOX_LOCK_(?!PROGRAM|SOURCE)[A-Z_]+(?==)");
    CHECK(given.contains("SANDBOX_LOCK_TOKEN"));
    variables.merge(given);

    Names documented;
    for (const auto& item : items_of("ENVIRONMENT"))
        for (const auto& name : arguments_of("Ev", item.head)) documented.insert(name);
    for (const auto& variable : variables) {
        CAPTURE(variable);
        CHECK(documented.contains(variable));
    }
    for (const auto& name : matches(read_file(page_path()), "SANDBOX_LOCK_[A-Z_]+")) {
        CAPTURE(name);
        CHECK(variables.contains(name));
    }
}

TEST_CASE("manual page: the table of exit statuses is complete") {
    Names expected{"any", "128+N"};
    for (const int status :
         {cli::usage_error, cli::store_unreachable, cli::internal_error, cli::system_error,
          cli::not_acquired, cli::store_denied, cli::bad_configuration, cli::lease_lost,
          cli::not_executable, cli::not_found})
        expected.insert(std::to_string(status));
    Names documented;
    for (const auto& item : items_of("EXIT STATUS")) documented.insert(item.head.back());
    CHECK(documented == expected);
}

TEST_CASE("manual page: the example of a configuration file is one") {
    std::string example;
    bool in_files = false;
    bool in_display = false;
    for (const auto& line : read_page()) {
        if (line.is("Sh")) in_files = plain(line) == "FILES";
        if (line.is("Bd") || line.is("Ed"))
            in_display = line.is("Bd");
        else if (in_files && in_display)
            example += plain(line) + "\n";
    }
    const TempDir dir;
    write_file(dir / "sandbox-lock.toml", example);
    const auto values = cli::read_configuration(dir / "sandbox-lock.toml");
    REQUIRE(values);
    CHECK(values->size() > 3);
    cli::Settings settings;
    for (const auto& [name, texts] : *values) {
        CAPTURE(name);
        const auto setting = std::ranges::find_if(cli::all_settings(),
                                                  [&](const auto& s) { return s.name() == name; });
        REQUIRE(setting != cli::all_settings().end());
        for (const auto& text : texts) CHECK(setting->apply(settings, text));
    }
}

TEST_CASE("manual page: the events of the messages are those of the program") {
    std::string source;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() + "/src"))
        if (entry.path().extension() == ".cpp") source += read_file(entry.path());
    int events = 0;
    for (const auto& item : items_of("DIAGNOSTICS"))
        for (const auto& event : arguments_of("Cm", item.head)) {
            CAPTURE(event);
            CHECK(source.find('"' + event + '"') != std::string::npos);
            ++events;
        }
    CHECK(events > 10);
}
