#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/settings.hpp"
#include "guard/result.hpp"

namespace cli {

/// The settings, and where each that is not left at its default comes from: for messages, by name.
struct Gathered {
    Settings settings;
    std::map<std::string_view, std::string> places;
};

/// Puts together what the command line (`options`, by the settings' names), then the environment,
/// then the configuration files say: the first that has a setting counts. `config` is the only file
/// to read; if it is empty, the default ones are.
[[nodiscard]] guard::Result<Gathered> gather(const std::map<std::string_view, std::string>& options,
                                             const std::string& config);

}  // namespace cli
