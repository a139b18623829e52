#pragma once

#include <string>
#include <vector>

#include "guard/result.hpp"

namespace cli {

/// One `name = value` of a configuration file, or `name = [value, ...]`.
struct Configured {
    std::string name;
    std::vector<std::string> values;
};

/// The configuration files there are, the one that counts most last: the system's, then the user's
/// ($XDG_CONFIG_HOME, else ~/.config).
[[nodiscard]] std::vector<std::string> default_configuration_files();

/// Reads a file in TOML, of which only lines `name = value` are taken, with a value of one line;
/// whatever else is there is an error that does not repeat it. A word needs no quotes.
[[nodiscard]] guard::Result<std::vector<Configured>> read_configuration(const std::string& path);

}  // namespace cli
