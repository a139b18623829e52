#include "run/pollers.hpp"

#include <sys/wait.h>

#include <array>

namespace run {

using guard::BootClock;
using guard::Deadline;
using guard::Wake;

Wake Undisturbed::wait(int fd, short events, Deadline until) {
    for (;;) {
        std::array<pollfd, 2> fds{{{fd, events, 0}, {}}};
        poll_.wait(fds, until);
        if (fds[0].revents != 0) return Wake::ready;
        if (BootClock::now() >= until) return Wake::timeout;
    }
}

Wake Entering::wait(int fd, short events, Deadline until) {
    if (meanwhile_ && fd >= 0 && (events & POLLIN) != 0) std::exchange(meanwhile_, nullptr)();
    for (;;) {
        if (interruption()) return Wake::interrupted;
        std::array<pollfd, 3> fds{{{fd, events, 0}, {signals_.fd(), POLLIN, 0}, {}}};
        poll_.wait(fds, until);
        if (fds[1].revents != 0) continue;
        if (fds[0].revents != 0) return Wake::ready;
        if (BootClock::now() >= until) return Wake::timeout;
    }
}

std::optional<int> Entering::interruption() {
    if (!interruption_) serve_signals();
    return interruption_;
}

void Entering::serve_signals() {
    while (const auto info = signals_.next()) {
        const int signal = static_cast<int>(info->ssi_signo);
        switch (signal) {
            case SIGCHLD:  // as PID 1 we are given orphans
                while (waitpid(-1, nullptr, WNOHANG) > 0) {
                }
                break;
            case SIGTSTP:
                if (!original_.heeded(SIGTSTP)) break;
                if (before_stop_) before_stop_();
                stop_self(SIGTSTP);
                break;
            case SIGCONT:
            case SIGWINCH:
                break;
            default:  // HUP INT QUIT TERM USR1 USR2: each ends a program that has no handler
                if (original_.heeded(signal)) interruption_ = signal;
                break;
        }
    }
}

}  // namespace run
