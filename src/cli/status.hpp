#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/observer.hpp"

namespace cli {

/// A slot's name for a person: its store key without `prefix`.
[[nodiscard]] std::string slot_name(std::string_view key, std::string_view prefix);

/// What `status` prints for a person: a table, or, if that is wider than `columns`, a few lines for
/// each slot. `columns` 0: as wide as it takes.
[[nodiscard]] std::string status_table(const std::vector<store::SlotState>& slots,
                                       std::string_view prefix, std::size_t columns);

/// What `status --json` prints: one object, its form documented in sandbox-lock(1).
[[nodiscard]] std::string status_json(const std::vector<store::SlotState>& slots,
                                      std::string_view prefix);

/// `held by make (ci@host, pid 123, since ...), 28s left, 3 waiting`
[[nodiscard]] std::string standing_text(const store::SlotState& slot);

}  // namespace cli
