#include <algorithm>
#include <string>
#include <vector>

#include "cli/parse.hpp"
#include "fuzz/secret.hpp"
#include "fuzz/target.hpp"

namespace {

using fuzz::require;
using Words = std::vector<std::string>;

Words words_in(std::string_view input) {
    Words words{"sandbox-lock"};
    for (;;) {
        const auto line = input.substr(0, input.find('\n'));
        words.emplace_back(line.substr(0, line.find('\0')));
        if (line.size() == input.size()) return words;
        input.remove_prefix(line.size() + 1);
    }
}

bool names_store(const Words& words, std::size_t i) {
    return words[i].starts_with("--store=") ||
           (words[i - 1] == "--store" && !words[i].starts_with('-'));
}

/// Of a run: where the command starts that is not ours to change.
std::size_t end_of_ours(const Words& words, const cli::Parsed& parsed) {
    const auto* run = std::get_if<cli::Invocation>(&parsed);
    const bool by_shell = run != nullptr && run->command.size() == 3 && run->command[1] == "-c";
    return words.size() - (run == nullptr || by_shell ? 0 : run->command.size());
}

/// What is said of a command line that is not understood. Of one that is, passwords are wiped.
std::string said_of(const Words& given) {
    Words words = given;
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const auto parsed = cli::parse(static_cast<int>(words.size()), argv.data());
    if (!parsed) {
        fuzz::require_shown(parsed.error());
        return parsed.error().text;
    }
    const auto is_star = [](char c) { return c == '*'; };
    for (std::size_t i = 1; i < end_of_ours(words, *parsed); ++i)
        require(!names_store(given, i) || std::ranges::all_of(store::password_in(argv[i]), is_star),
                "a password is wiped in argv");
    return "";
}

}  // namespace

/// A word a line.
void fuzz::command_line(std::string_view input) {
    const auto words = words_in(input);
    // What is in a file is not asked here, and some never end.
    if (std::ranges::any_of(words, [](const auto& word) { return word.starts_with("--config"); }))
        return;
    auto others = words;
    for (std::size_t i = 1; i < words.size(); ++i)
        if (names_store(words, i)) others[i] = with_another_password(words[i]);
    require(said_of(words) == said_of(others), "nothing that is said depends on a password");
}
