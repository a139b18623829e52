#include "support/recipes.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "support/program.hpp"

namespace support {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

struct Recipe {
    std::string title;
    std::string text;  ///< what stands in displays, without roff's escapes
};

std::vector<Recipe> read_recipes() {
    std::istringstream page{read_file(source_root() + "/man/sandbox-lock.1")};
    std::vector<Recipe> recipes;
    bool in_section = false;
    bool in_display = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with(".Sh ")) in_section = line == ".Sh RECIPES";
        if (!in_section) continue;
        if (line.starts_with(".Ss ")) recipes.push_back({line.substr(4), ""});
        if (line.starts_with(".Bd ") || line == ".Ed")
            in_display = line != ".Ed";
        else if (in_display)
            recipes.back().text += line + "\n";
    }
    for (auto& recipe : recipes) {
        replace_all(recipe.text, "\\&", "");
        replace_all(recipe.text, "\\e", "\\");
    }
    return recipes;
}

}  // namespace

std::vector<std::string> recipe_titles() {
    std::vector<std::string> titles;
    for (const auto& recipe : read_recipes()) titles.push_back(recipe.title);
    return titles;
}

std::string recipe(const std::string& title, const Replacements& own_words) {
    const auto recipes = read_recipes();
    const auto found = std::ranges::find(recipes, title, &Recipe::title);
    if (found == recipes.end() || found->text.empty())
        throw std::runtime_error("the manual page has no recipe '" + title + "'");
    auto text = found->text;
    for (const auto& [example, own] : own_words) {
        if (text.find(example) == text.npos)
            throw std::runtime_error("the recipe '" + title + "' has no '" + example + "'");
        replace_all(text, example, own);
    }
    return text;
}

Workplace::Workplace(std::string store_url, std::vector<std::string> environment)
    : environment_(clean_environment(store_url)) {
    std::filesystem::create_directory(bin());
    std::filesystem::create_symlink(program_path(), bin() + "/sandbox-lock");
    const char* path = std::getenv("PATH");
    environment_.push_back("PATH=" + bin() + ":" + (path == nullptr ? "" : path));
    environment_.push_back(mark());
    environment_.insert(environment_.end(), environment.begin(), environment.end());
    // Of the make that may run the tests.
    environment_.insert(environment_.end(), {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"});
}

Workplace::~Workplace() {
    const auto none_is_left = [&] {
        const auto left = running();
        for (const pid_t pid : left) ::kill(pid, SIGKILL);
        return left.empty();
    };
    eventually(none_is_left);
}

void Workplace::executable(const std::string& path, const std::string& text) const {
    write_file(dir_ / path, text);
    std::filesystem::permissions(dir_ / path, std::filesystem::perms::owner_all);
}

Process Workplace::start(const std::vector<std::string>& argv) const {
    Launch launch;
    launch.environment = environment_;
    launch.before_exec = [directory = dir_ / ""] {
        if (chdir(directory.c_str()) != 0) _exit(127);
    };
    return Process(argv, launch);
}

}  // namespace support
