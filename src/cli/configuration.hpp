#pragma once

#include <string>
#include <vector>

#include "guard/result.hpp"

namespace cli {

/// One `name = value` of a configuration file.
struct ConfiguredValue {
    std::string name;
    std::string value;
};

/// The configuration files there are, the one that counts most last: the system's, then the user's
/// ($XDG_CONFIG_HOME, else ~/.config).
[[nodiscard]] std::vector<std::string> default_configuration_files();

/// Reads a file in TOML, of which single values outside of tables are used. One that cannot be read
/// is an error.
[[nodiscard]] guard::Result<std::vector<ConfiguredValue>> read_configuration(
    const std::string& path);

}  // namespace cli
