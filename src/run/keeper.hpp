#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guard/poller.hpp"
#include "guard/report.hpp"
#include "run/channel.hpp"
#include "run/order.hpp"
#include "run/signals.hpp"
#include "run/timer.hpp"
#include "run/tree.hpp"
#include "run/warden.hpp"

namespace run {

/// How a run came to its end.
struct RunEnd {
    enum How {
        ended,         ///< `number`: the command's wait status
        no_exec,       ///< `number`: errno of the exec
        no_start,      ///< `text`: why; nothing has run
        late,          ///< the lease was about to end; nothing has run
        warden_killed  ///< somebody killed the warden; the tree has been ended
    } how;
    int number = 0;
    std::string text = {};
};

/// The keeper's side of a run: passes signals on, hands new deadlines to the warden, and learns of
/// the end. All of it happens inside `wait`, whatever that waits for.
class Keeper final : public guard::LeasedRun {
public:
    Keeper(Warden warden, const SignalReader& signals, const OriginalSignals& original,
           guard::Reporter reporter);

    /// Has the warden start the command, and keep a copy of `anchor` open until its own end. A
    /// failure comes as a RunEnd like any other end.
    void start(const Order& order, guard::Descriptor anchor);

    /// Interrupted when the run has ended.
    [[nodiscard]] guard::Wake wait(int fd, short events, guard::Deadline until) override;
    void extended(guard::Deadline deadline) override;

    /// Has the tree ended: TERM now, KILL after the order's grace. Returns at once.
    void stop();

    /// Waits until the run has ended.
    RunEnd finish();

    /// Whether the tree, or a part of it, had to be killed by KILL.
    [[nodiscard]] bool killed() const noexcept { return killed_; }
    /// Whether a signal that was sent to us has ended the command.
    [[nodiscard]] bool ended_as_asked() const noexcept { return ended_as_asked_; }
    /// What became of the order's cleanup: done, or failed, or none was wanted or had a reason.
    enum class Cleanup { none, done, failed };
    [[nodiscard]] Cleanup cleanup() const noexcept { return cleanup_; }
    /// Whether the tree was ended because the lease was running out.
    [[nodiscard]] bool ran_out() const noexcept { return ran_out_; }

private:
    void tell_warden(Message message);
    void flush();
    void serve_signals();
    void serve_channel();
    void hand_over_stop() const;
    void continue_command();
    void reap();
    void take_over(guard::Deadline kill_at);
    void tree_has_ended();
    [[nodiscard]] bool start_cleanup();
    void told_unclean(const std::string& complaints);
    void watch_over(guard::Deadline deadline);
    [[nodiscard]] guard::Deadline act(guard::Deadline now);
    [[nodiscard]] bool tree_is_gone() const;
    [[nodiscard]] bool reached_command(const signalfd_siginfo& info) const;

    Warden warden_;
    const SignalReader& signals_;
    const OriginalSignals& original_;
    guard::Reporter reporter_;
    TimedPoll poll_;

    guard::Duration margin_{};
    guard::Duration grace_{};
    Order cleanup_order_{};  ///< without the command
    guard::Deadline deadline_ = guard::never;
    bool shares_group_ = false;  ///< the command is in our process group, where a terminal is
    pid_t command_ = 0;
    std::vector<Message> unsent_;                 ///< what the channel had no room for
    guard::Deadline backstop_ = guard::never;     ///< when a warden that has not acted is replaced
    guard::Deadline continue_at_ = guard::never;  ///< when to look whether CONT has to be passed on
    std::optional<TreeEnd> ending_;               ///< set once this process has taken over
    std::optional<int> status_;                   ///< the command's, reaped after that
    std::optional<RunEnd> end_;
    bool killed_ = false;
    bool ran_out_ = false;
    bool ended_as_asked_ = false;

    bool cleaning_ = false;
    bool is_second_warden_ = false;  ///< the first one was killed; this one only cleans up
    Cleanup cleanup_ = Cleanup::none;
};

}  // namespace run
