#pragma once

#include <nlohmann/json.hpp>

#include "bench/options.hpp"
#include "bench/tools.hpp"

namespace bench {

/// How soon a slot passes from one holder to the next with so many waiters: from the end of one
/// command to the start of the next one, as the commands themselves see it (stamp.c). And what that
/// costs: commands of the server, memory of the waiters.
[[nodiscard]] nlohmann::ordered_json measure_handover(const Toolbox& toolbox, int waiters,
                                                      const Options& options);

}  // namespace bench
