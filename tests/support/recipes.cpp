#include "support/recipes.hpp"

#include <signal.h>
#include <unistd.h>

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

/// The lines between .Bd and .Ed below `.Ss TITLE`, without roff's escapes.
std::string display_below(const std::string& title) {
    const char* root = std::getenv("SANDBOX_LOCK_SOURCE");
    if (root == nullptr) throw std::runtime_error("SANDBOX_LOCK_SOURCE is not set: use meson test");
    std::istringstream page{read_file(std::string(root) + "/man/sandbox-lock.1")};
    std::string text;
    std::string section;
    std::string subsection;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with(".Sh ")) section = line.substr(4);
        if (line.starts_with(".Ss ")) subsection = line.substr(4);
        if (line.starts_with(".Bd ") || line == ".Ed")
            inside = line != ".Ed" && section == "RECIPES" && subsection == title;
        else if (inside)
            text += line + "\n";
    }
    replace_all(text, "\\&", "");
    replace_all(text, "\\e", "\\");
    return text;
}

}  // namespace

std::string recipe(const std::string& title, const Replacements& own_words) {
    auto text = display_below(title);
    if (text.empty()) throw std::runtime_error("the manual page has no recipe '" + title + "'");
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
