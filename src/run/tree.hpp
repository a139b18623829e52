#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <vector>

#include "guard/clock.hpp"

namespace run {

/// Makes this process the parent that orphaned descendants get, so that none escapes by a double
/// fork or setsid: PR_SET_CHILD_SUBREAPER of prctl(2). It outlives an exec, hence the way back.
void become_subreaper(bool on = true) noexcept;
[[nodiscard]] bool is_subreaper() noexcept;

/// Whether this process has children, dead or alive.
[[nodiscard]] bool has_children() noexcept;

// The functions below need /proc; a run does not start without it.

/// All live descendants of this process, by the parent links in /proc, as pids of our own PID
/// namespace. A look at a moving thing: who forks meanwhile may be missed, so look again until
/// there are no children left. Without those that are `spared`, and what is below them.
[[nodiscard]] std::vector<pid_t> descendants(const std::vector<pid_t>& spared = {});

/// The same by the kernel's lists of children, for which only the tree has to be read and not all
/// processes of the machine. It may lack more of them, and where there are no such lists, or /proc
/// is another namespace's, all.
[[nodiscard]] std::vector<pid_t> listed_descendants(const std::vector<pid_t>& spared = {});

/// Whether `pid` is among the descendants. Asked for single processes, so it walks up, not down.
[[nodiscard]] bool is_descendant(pid_t pid);

/// Whether `pid` neither ignores nor handles `signal`: SigIgn and SigCgt of proc(5).
[[nodiscard]] bool has_default_action(pid_t pid, int signal);

/// Whether `pid` is stopped (job control, not tracing). False where it cannot be seen.
[[nodiscard]] bool is_stopped(pid_t pid);

/// The direct children of this process that are there now, such as those a shell left behind that
/// became this program by exec.
[[nodiscard]] std::vector<pid_t> children();

/// Sends KILL to all descendants but those spared, with what is below them, and the one process
/// `but`. Answers whom it found.
std::vector<pid_t> kill_descendants(const std::vector<pid_t>& spared, pid_t but = 0);

/// Ends all descendants of this process but those spared and what is below them: TERM and CONT
/// once, KILL from a given time on, again and again until none is left. It does not reap.
class TreeEnd {
public:
    /// `first` is the signal that it begins with, or 0.
    TreeEnd(guard::Deadline kill_at, std::vector<pid_t> spared, int first = SIGTERM);

    /// Moves the KILL to an earlier time.
    void hurry(guard::Deadline kill_at) noexcept;

    /// Does what is due and tells when it wants to be called again.
    guard::Deadline step();

    /// One that still lives long after the first KILL: another user's, or stuck in the kernel.
    [[nodiscard]] std::optional<pid_t> survivor() const noexcept { return survivor_; }

    [[nodiscard]] guard::Deadline kill_at() const noexcept { return kill_at_; }

    /// Whether nobody is left, reaped and all.
    [[nodiscard]] bool gone() const { return descendants(spared_).empty(); }

    /// Whether KILL had to be used.
    [[nodiscard]] bool killed() const noexcept { return killed_; }

private:
    guard::Deadline kill_at_;
    std::vector<pid_t> spared_;
    guard::Duration pause_;  ///< until the next look, ever longer
    std::optional<pid_t> survivor_;
    bool killed_ = false;
};

}  // namespace run
