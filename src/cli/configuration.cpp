#include "cli/configuration.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace cli {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;

constexpr const char* file_name = "sandbox-lock.toml";

/// CLI11 cuts a value at '#' even inside quotes; so comments are taken away before it reads.
std::string without_comment(const std::string& line) {
    char quote = '\0';
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quote == '\0' && c == '#') return line.substr(0, i);
        if (quote == '\0' && (c == '"' || c == '\''))
            quote = c;
        else if (c == quote)
            quote = '\0';
    }
    return line;
}

Result<std::string> read_text(const std::string& path) {
    std::ifstream file{path};
    std::ostringstream text;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        line = without_comment(line);
        // CLI11 would take it for a name, and what is shown as an unknown one may be a password.
        if (line.find_first_not_of(" \t\r") != line.npos && line.find_first_of("=[") == line.npos)
            return Error{Fault::configuration, "configuration file '" + path + "': line " +
                                                   std::to_string(number) +
                                                   " is not of the form 'name = value'"};
        text << line << '\n';
    }
    if (!file.eof())
        return Error{Fault::configuration,
                     "cannot read configuration file '" + path + "': " + std::strerror(errno)};
    return text.str();
}

}  // namespace

std::vector<std::string> default_configuration_files() {
    std::vector<std::string> files;
    const auto add = [&](const std::string& path) {
        if (access(path.c_str(), F_OK) == 0) files.push_back(path);
    };
    const auto variable = [](const char* name) -> std::string {
        const char* value = std::getenv(name);
        return value == nullptr ? "" : value;
    };
    add(std::string("/etc/") + file_name);
    if (const auto home = variable("XDG_CONFIG_HOME"); !home.empty())
        add(home + "/" + file_name);
    else if (const auto user = variable("HOME"); !user.empty())
        add(user + "/.config/" + file_name);
    return files;
}

Result<std::vector<Configured>> read_configuration(const std::string& path) {
    const auto text = read_text(path);
    if (!text) return text.error();
    std::istringstream stream{*text};
    CLI::ConfigBase toml;
    toml.comment('\0');  // they are gone already
    std::vector<Configured> values;
    for (const auto& item : toml.from_config(stream)) {
        if (!item.parents.empty())
            return Error{Fault::configuration, "configuration file '" + path +
                                                   "': it has a table, [" + item.parents.front() +
                                                   "], but takes plain 'name = value' lines only"};
        values.push_back({item.name, item.inputs});
    }
    return values;
}

}  // namespace cli
