#include "run/timer.hpp"

namespace run {

void TimedPoll::wait(std::span<pollfd> fds, guard::Deadline until) noexcept {
    fds.back() = {timer_.get(), POLLIN, 0};
    itimerspec when{};
    if (until != guard::never) {
        const auto since_boot = until.time_since_epoch();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
        when.it_value.tv_sec = seconds.count();
        when.it_value.tv_nsec = (since_boot - seconds).count();
        // Zero would disarm it; any time that has passed will do.
        if (since_boot <= guard::Duration::zero()) when.it_value = {0, 1};
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
    for (auto& entry : fds) entry.revents = 0;
    ::poll(fds.data(), fds.size(), -1);
}

}  // namespace run
