#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "guard/descriptor.hpp"
#include "guard/result.hpp"
#include "run/order.hpp"
#include "run/signals.hpp"

namespace run {

/// Replaces this process by `command` (execvp(3)), with `environment` added and the original
/// signals restored. Returns only on failure, with errno.
[[nodiscard]] int exec(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment,
                       const OriginalSignals& original) noexcept;

/// A process group in our session with nobody in it, for the command to join. If the command led
/// its group itself, `setsid COMMAND` would fork and return at once: setsid(2) refuses a group's
/// leader.
class NewGroup {
public:
    /// Forks a child that makes the group and exits; unreaped, it keeps the group's number taken.
    NewGroup() noexcept;
    ~NewGroup();
    NewGroup(const NewGroup&) = delete;
    NewGroup& operator=(const NewGroup&) = delete;

    /// 0 where it could not be made.
    [[nodiscard]] pid_t id() const noexcept { return leader_ > 0 ? leader_ : 0; }

private:
    pid_t leader_;
};

/// A child process that is, or could not become, the command.
struct Command {
    pid_t pid;
    pid_t group;                   ///< the process group that it was started in
    guard::Descriptor exec_error;  ///< holds errno if exec failed, end of file if it did not

    /// errno of a failed exec, 0 where it went well. Call it when the process has ended.
    [[nodiscard]] int failure() const noexcept;
};

/// Forks and execs what `order` says; returns when the exec is done. While that hangs, say on a
/// dead NFS server, this process does nothing else: the keeper is its backstop. The child asks for
/// TERM when the warden dies; this holds for the child alone and serves where both are killed
/// together. `group` is what it joins if the order wants it in a group of its own.
[[nodiscard]] guard::Result<Command> start(const Order& order, pid_t group,
                                           const OriginalSignals& original);

}  // namespace run
