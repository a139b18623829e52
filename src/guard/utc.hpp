#pragma once

#include <optional>
#include <string>

#include "guard/clock.hpp"

namespace guard {

/// Now, in UTC, to the second: `2026-11-29T10:00:00Z` (ISO 8601).
[[nodiscard]] std::string utc_now();

/// How long ago `utc` was, a time in that form, by the clock of this machine; none for another form
/// or a time to come, since the clocks of two machines may differ.
[[nodiscard]] std::optional<Duration> since(const std::string& utc);

}  // namespace guard
