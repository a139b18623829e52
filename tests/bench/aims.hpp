#pragma once

#include <nlohmann/json.hpp>

namespace bench {

/// What sandbox-lock is meant to reach, each beside what was measured; of all figures, as JSON.
/// Without what cannot be told from them.
[[nodiscard]] nlohmann::ordered_json aims_in(const nlohmann::ordered_json& figures);

}  // namespace bench
