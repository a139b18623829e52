#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <optional>

#include "guard/descriptor.hpp"

namespace run {

/// The signal mask and the dispositions that this process was started with, and the means to give
/// them to another program unchanged.
class OriginalSignals {
public:
    /// Blocks what this program handles by signalfd(2), and SIGPIPE, so that writing to a closed
    /// socket is an error and no death. Nothing is dispatched to handlers anywhere in this program,
    /// so nothing else changes, but for an ignored SIGCHLD: with it children vanish unwaited.
    static OriginalSignals take() noexcept;

    /// Before exec: puts mask and dispositions back. Async-signal-safe.
    void restore() const noexcept;

    /// Whether a program run directly would have met this signal: neither ignored nor blocked.
    [[nodiscard]] bool heeded(int signal) const noexcept;

private:
    sigset_t mask_{};
    sigset_t ignored_{};
};

/// Of the signals that are passed on to the command (DESIGN section 5), those that ask a run to
/// end.
[[nodiscard]] bool asks_to_end(int signal) noexcept;

/// Whether this signal, which is blocked, has come to this process and was not read yet.
[[nodiscard]] bool is_pending(int signal) noexcept;

/// Reads blocked signals as they come: signalfd(2).
class SignalReader {
public:
    /// For the signals that OriginalSignals::take blocked, or for SIGCHLD alone.
    static SignalReader for_keeper() noexcept;
    static SignalReader for_warden() noexcept;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// The next pending signal; none where there is none.
    [[nodiscard]] std::optional<signalfd_siginfo> next() const noexcept;

private:
    explicit SignalReader(const sigset_t& set) noexcept;
    guard::Descriptor fd_;
};

/// Takes the default action of a stop signal that is blocked: stops this process, except where the
/// kernel would not, in an orphaned process group. Returns when it has been continued.
void stop_self(int signal) noexcept;

}  // namespace run
