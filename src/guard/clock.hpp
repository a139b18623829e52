#pragma once

#include <chrono>
#include <ctime>

namespace guard {

/// CLOCK_BOOTTIME: never set, and it goes on while the machine is suspended, as the store's clock
/// does. `std::chrono::steady_clock` (CLOCK_MONOTONIC) stands still in suspend, so a lease measured
/// by it would seem alive after it had lapsed. See clock_gettime(2).
struct BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept {
        timespec ts{};
        clock_gettime(CLOCK_BOOTTIME, &ts);
        return time_point{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
    }
};

using Duration = BootClock::duration;
/// A point in time after which something no longer holds.
using Deadline = BootClock::time_point;

inline constexpr Deadline never = Deadline::max();

/// `from + span`, or `never` where that would not fit.
[[nodiscard]] constexpr Deadline after(Deadline from, Duration span) noexcept {
    return span > never - from ? never : from + span;
}

/// `span`, or the longest Duration where it is longer: what others say may be.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration clamped(std::chrono::duration<Rep, Period> span) noexcept {
    using Span = std::chrono::duration<Rep, Period>;
    return span > std::chrono::duration_cast<Span>(Duration::max()) ? Duration::max()
                                                                    : Duration{span};
}

/// When the first of `parties` has had its equal share of the time from now until `until`.
[[nodiscard]] inline Deadline first_share(Deadline until, std::size_t parties) noexcept {
    const auto now = BootClock::now();
    return after(now, (until - now) / static_cast<Duration::rep>(parties));
}

}  // namespace guard
