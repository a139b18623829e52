#pragma once

#include <string>

namespace guard {

/// Now, in UTC, to the second: `2026-11-29T10:00:00Z` (ISO 8601).
[[nodiscard]] std::string utc_now();

}  // namespace guard
