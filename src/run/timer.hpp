#pragma once

#include <poll.h>
#include <sys/timerfd.h>

#include <span>

#include "guard/clock.hpp"
#include "guard/descriptor.hpp"

namespace run {

/// Waits on descriptors until a point of CLOCK_BOOTTIME. poll's own time-out runs on
/// CLOCK_MONOTONIC, which stands still in suspend; a timerfd wakes as soon as the machine does.
class TimedPoll {
public:
    TimedPoll() noexcept : timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

    /// Fills `revents` as poll(2) does; the last element of `fds` is the timer's, for this to set.
    /// EINTR looks like a time-out that comes early: callers look at their state again anyway.
    void wait(std::span<pollfd> fds, guard::Deadline until) noexcept;

private:
    guard::Descriptor timer_;
};

}  // namespace run
