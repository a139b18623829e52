#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "guard/clock.hpp"

namespace cli {

inline constexpr std::string_view duration_forms = "seconds, or 500ms, 90s, 30m, 2h, 1h30m";

/// Reads a number of seconds (`5`, `0.25`) or numbers with units, the larger unit first: `500ms`,
/// `1h30m`. None for anything else, below zero, or above a hundred years.
[[nodiscard]] std::optional<guard::Duration> parse_duration(std::string_view text) noexcept;

/// For a person, in a form parse_duration reads: `350ms`, `12.3s`, `2m5s`, `1h30m`.
[[nodiscard]] std::string duration_text(guard::Duration span);

}  // namespace cli
