#pragma once

#include <nlohmann/json.hpp>

#include "bench/options.hpp"
#include "bench/tools.hpp"

namespace bench {

/// What wrapping a command costs: wall time and instructions of each tool around `true`, and of
/// `true` alone. Other work on the machine blurs every single figure, so all of them run in turn
/// within each round, and what counts is the median of the rounds' ratios.
[[nodiscard]] nlohmann::ordered_json measure_start(const Toolbox& toolbox, const Options& options);

}  // namespace bench
