#include "run/signals.hpp"

#include <unistd.h>

#include <array>

namespace run {
namespace {

constexpr std::array passed_on{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                               SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP};

sigset_t keeper_set() noexcept {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : passed_on) sigaddset(&set, signal);
    sigaddset(&set, SIGCHLD);
    return set;
}

bool disposition_is_ignore(int signal) noexcept {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

OriginalSignals OriginalSignals::take() noexcept {
    OriginalSignals original;
    sigemptyset(&original.ignored_);
    for (const int signal : passed_on)
        if (disposition_is_ignore(signal)) sigaddset(&original.ignored_, signal);
    if (disposition_is_ignore(SIGCHLD)) {
        sigaddset(&original.ignored_, SIGCHLD);
        ::signal(SIGCHLD, SIG_DFL);
    }
    sigset_t set = keeper_set();
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, &original.mask_);
    return original;
}

void OriginalSignals::restore() const noexcept {
    if (sigismember(&ignored_, SIGCHLD) == 1) ::signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

bool OriginalSignals::heeded(int signal) const noexcept {
    return sigismember(&ignored_, signal) == 0 && sigismember(&mask_, signal) == 0;
}

bool asks_to_end(int signal) noexcept {
    // USR1 and USR2 do not: a program that is sent them mostly goes on.
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

bool is_pending(int signal) noexcept {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

SignalReader::SignalReader(const sigset_t& set) noexcept
    : fd_(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) {}

SignalReader SignalReader::for_keeper() noexcept {
    return SignalReader{keeper_set()};
}

SignalReader SignalReader::for_warden() noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return SignalReader{set};
}

std::optional<signalfd_siginfo> SignalReader::next() const noexcept {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return info;
}

void stop_self(int signal) noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);  // stops here
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace run
