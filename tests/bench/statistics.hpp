#pragma once

#include <vector>

namespace bench {

using Figures = std::vector<double>;

/// The one that a share `q` of the figures do not exceed; 0 where there are none.
[[nodiscard]] double quantile(Figures figures, double q);

/// Half of the 95 % interval of the figures' median.
[[nodiscard]] double error_of_median(Figures figures);

}  // namespace bench
