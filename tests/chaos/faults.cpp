#include "chaos/faults.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

namespace chaos {

using namespace std::chrono_literals;
using guard::Duration;

/// Before the server's faults begin anew, so that some see none of them.
constexpr Duration calm = 4s;

int signal_of(Kind kind) noexcept {
    constexpr std::array signals{SIGKILL, SIGTERM, SIGINT, SIGSTOP};
    return signals[static_cast<std::size_t>(kind) % 4];
}

Schedule::Schedule(std::uint64_t seed, Track track)
    : track_(track), random_(seed * 2 + (track == of_server ? 1 : 0)) {}

Duration Schedule::between(Duration least, Duration most) {
    return Duration{std::uniform_int_distribution(least.count(), most.count())(random_)};
}

Fault Schedule::next() {
    const bool is_first = bag_.empty();
    if (is_first) {
        const bool of_one = track_ == of_processes;
        for (std::size_t i = of_one ? 0 : process_kinds; i < (of_one ? process_kinds : kinds); ++i)
            bag_.push_back(static_cast<Kind>(i));
        std::ranges::shuffle(bag_, random_);
    }
    Fault fault{.kind = bag_.back()};
    bag_.pop_back();
    const bool is_long = between(0s, 1s) < 500ms;
    const Duration brief = between(100ms, 700ms);
    const Duration lasting = between(1s, 2500ms);
    fault.length = is_long ? lasting : brief;
    fault.pause = track_ == of_processes ? between(100ms, 900ms)
                                         : between(0s, 400ms) + (is_first ? calm : 0s);
    fault.pick = static_cast<std::uint32_t>(random_());
    switch (fault.kind) {
        case Kind::pause_short:
            fault.length = brief;
            break;
        case Kind::pause_long:
            fault.length = lasting + 1200ms;
            break;
        case Kind::clock_slip:
            fault.jump = between(10ms, 50ms);
            break;
        case Kind::clock_forward:
            fault.jump = between(3s, 60s);
            break;
        case Kind::clock_back:
            fault.jump = -between(500ms, 4s);
            break;
        default:
            break;
    }
    return fault;
}

}  // namespace chaos
