#pragma once

#include <string>
#include <string_view>

namespace cli {

/// What --help prints: usage and the options by group, made from the settings table.
[[nodiscard]] std::string help_text();

/// What `status --help` and the like print.
[[nodiscard]] std::string_view status_help() noexcept;
[[nodiscard]] std::string_view break_help() noexcept;
[[nodiscard]] std::string_view doctor_help() noexcept;

}  // namespace cli
