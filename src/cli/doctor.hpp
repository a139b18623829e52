#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/examiner.hpp"

namespace cli {

/// What `doctor` prints for one finding. `columns` 0: a single line, `WARN eviction: TEXT: REMEDY`;
/// else for a terminal of that width, with the remedy below.
[[nodiscard]] std::string finding_text(const store::Finding& finding, std::size_t columns);

/// What `doctor --json` prints: its form is documented in sandbox-lock(1).
[[nodiscard]] std::string findings_json(const std::vector<store::Finding>& findings);

/// 0 where all is ok, 1 where there is a warning, 2 where something fails.
[[nodiscard]] int status_of(const std::vector<store::Finding>& findings) noexcept;

}  // namespace cli
