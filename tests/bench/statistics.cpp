#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace bench {

double quantile(Figures figures, double q) {
    if (figures.empty()) return 0;
    std::ranges::sort(figures);
    const double last = static_cast<double>(figures.size() - 1);
    return figures[static_cast<std::size_t>(std::clamp(q, 0.0, 1.0) * last)];
}

double error_of_median(Figures figures) {
    // The order statistics around the median: a binomial's 1.96 standard deviations.
    const double half = figures.empty() ? 0 : 0.98 / std::sqrt(static_cast<double>(figures.size()));
    return (quantile(figures, 0.5 + half) - quantile(figures, 0.5 - half)) / 2;
}

}  // namespace bench
