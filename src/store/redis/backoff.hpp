#pragma once

#include <algorithm>

#include "guard/clock.hpp"

namespace store::redis {

/// The pauses between tries that fail: ever longer ones, up to the longest.
class Backoff {
public:
    static constexpr guard::Duration first = std::chrono::milliseconds{50};

    explicit Backoff(guard::Duration longest) noexcept : longest_(longest) {}

    guard::Duration next() noexcept {
        const auto now = pause_;
        pause_ = std::min(2 * pause_, longest_);
        return now;
    }
    void reset() noexcept { pause_ = first; }

private:
    guard::Duration longest_;
    guard::Duration pause_ = first;
};

}  // namespace store::redis
