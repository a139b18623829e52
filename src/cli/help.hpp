#pragma once

#include <string>

namespace cli {

/// What --help prints: usage and the options by group, made from the settings table.
[[nodiscard]] std::string help_text();

}  // namespace cli
