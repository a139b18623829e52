#pragma once

#include "guard/clock.hpp"

namespace guard {

enum class Wake {
    ready,        ///< the descriptor has what was asked for
    timeout,      ///< the time is over
    interrupted,  ///< there is no more reason to wait: a signal, or the command has ended
};

/// The one place where the program waits. Stores write their requests as straight code over it,
/// while the implementation serves signals and the warden in the same poll(2): a store that hangs
/// never delays a signal.
class Poller {
public:
    virtual ~Poller() = default;

    /// Waits until `fd` has one of `events` (poll(2)), until `until`, or until interrupted. With fd
    /// -1 it only waits for the time. Once interrupted, it stays so.
    [[nodiscard]] virtual Wake wait(int fd, short events, Deadline until) = 0;
};

/// A command that runs under a lease. Waiting on it is interrupted when the command has ended.
class LeasedRun : public Poller {
public:
    /// The lease now ends at `deadline`; the command may run until shortly before.
    virtual void extended(Deadline deadline) = 0;
};

}  // namespace guard
