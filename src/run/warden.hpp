#pragma once

#include <sys/types.h>

#include <vector>

#include "guard/result.hpp"
#include "run/channel.hpp"
#include "run/signals.hpp"

namespace run {

/// The keeper's hold on the warden: a small process that starts the command when it is told to,
/// watches the lease's deadline, and ends the command tree when that comes near, when it is told
/// to, or when the keeper is gone. It touches neither network nor terminal.
struct Warden {
    pid_t pid;
    Channel channel;
    std::vector<pid_t> earlier_children;  ///< what a shell left us that became this program by exec
    bool was_subreaper;                   ///< this process, before it had a warden

    /// Forks it. It waits for its Order; when the channel closes before one came, it exits. Of this
    /// process's own descriptors (those that are close-on-exec) it keeps none.
    static guard::Result<Warden> fork(const OriginalSignals& original);

    /// Lets it go before it has started anything, and reaps it.
    void dismiss() noexcept;
};

}  // namespace run
