#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "guard/clock.hpp"

namespace guard {

/// Now, in UTC, to the second: `2026-11-29T10:00:00Z` (ISO 8601).
[[nodiscard]] std::string utc_now();

/// Reads what utc_now writes; none for anything else.
[[nodiscard]] std::optional<std::chrono::sys_seconds> read_utc(std::string_view text) noexcept;

/// How long ago `utc` was, by the clock of this machine; none for another form, a time to come, since
/// the clocks of two machines may differ, or one longer ago than a Duration holds: 292 years.
[[nodiscard]] std::optional<Duration> since(std::string_view utc) noexcept;

}  // namespace guard
