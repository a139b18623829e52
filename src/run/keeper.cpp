#include "run/keeper.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>

#include "run/inherited.hpp"
#include "run/terminal.hpp"

namespace run {

using guard::BootClock;
using guard::Deadline;
using guard::Level;
using guard::Wake;

/// The kernel continues the processes of a group one after the other, and we may be the first.
constexpr guard::Duration group_continues = std::chrono::milliseconds{50};

Keeper::Keeper(Warden warden, const SignalReader& signals, const OriginalSignals& original,
               guard::Reporter reporter)
    : warden_(std::move(warden)),
      signals_(signals),
      original_(original),
      reporter_(std::move(reporter)) {}

void Keeper::start(const Order& order, guard::Descriptor anchor) {
    margin_ = order.margin;
    grace_ = order.grace;
    shares_group_ = !order.own_group;
    if (order.deadline != guard::never && BootClock::now() >= order.deadline - margin_) {
        end_ = RunEnd{RunEnd::late};  // the warden would say so, but may seem stuck before it can
        return;
    }
    watch_over(order.deadline);
    if (shares_group_) hand_over_stop();
    if (!warden_.channel.send({Message::start, 0, order.serialized(), std::move(anchor)}))
        end_ = RunEnd{RunEnd::no_start, 0, "the warden process was killed"};
    close_inherited();
    if (!order.cleans_up()) return;
    cleanup_order_ = order;
    cleanup_order_.command.clear();
}

/// A stop that is pending at the warden is one that the command missed, unless this process met it
/// long ago, while the slot was awaited. (CONT discards pending stops.)
void Keeper::hand_over_stop() const {
    kill(warden_.pid, SIGCONT);
    if (is_pending(SIGTSTP)) kill(warden_.pid, SIGTSTP);
}

/// A warden that has not ended the tree by half the margin is stopped or stuck. Cleaning up may
/// take a little longer.
void Keeper::watch_over(Deadline deadline) {
    deadline_ = deadline;
    backstop_ = deadline == guard::never ? guard::never : deadline - margin_ / (cleaning_ ? 8 : 2);
}

void Keeper::extended(Deadline deadline) {
    if (ending_ || ran_out_) return;
    watch_over(deadline);
    tell_warden({Message::deadline, deadline.time_since_epoch().count()});
}

/// Without waiting for it: a warden that is stopped must not stop us. What it has no room for is
/// kept; of deadlines the newest counts, and of a signal one, as in the kernel.
void Keeper::tell_warden(Message message) {
    std::erase_if(unsent_, [&](const Message& old) {
        return old.kind == message.kind &&
               (old.kind == Message::deadline || old.number == message.number);
    });
    unsent_.push_back(std::move(message));
    flush();
}

void Keeper::flush() {
    while (!unsent_.empty() && warden_.channel.offer(unsent_.front()))
        unsent_.erase(unsent_.begin());
}

Wake Keeper::wait(int fd, short events, Deadline until) {
    for (Deadline next = ending_ ? BootClock::now() : std::min(backstop_, continue_at_); !end_;
         next = act(BootClock::now())) {
        std::array<pollfd, 4> fds{{{fd, events, 0},
                                   {signals_.fd(), POLLIN, 0},
                                   {ending_ ? -1 : warden_.channel.fd(), POLLIN, 0},
                                   {}}};
        if (!unsent_.empty()) fds[2].events |= POLLOUT;
        poll_.wait(fds, std::min(until, next));
        if (fds[1].revents != 0) serve_signals();
        if ((fds[2].revents & POLLOUT) != 0) flush();
        // News first: whoever was stopped for a while finds several, and the end may be among them.
        if ((fds[2].revents & ~POLLOUT) != 0) {
            serve_channel();
            continue;
        }
        if (end_) break;
        if (fds[0].revents != 0) return Wake::ready;
        if (BootClock::now() >= until) return Wake::timeout;
    }
    return Wake::interrupted;
}

/// Does what the time asks for; returns when to look again.
Deadline Keeper::act(Deadline now) {
    if (!ending_ && !warden_.channel.readable() && now >= backstop_) {
        // The warden last: should we be killed meanwhile, it is what is left to end the tree.
        (void)kill_descendants(warden_.earlier_children, warden_.pid);
        kill(warden_.pid, SIGKILL);
        ran_out_ = true;
        take_over(now);
        reporter_({Level::error,
                   "warden-stuck",
                   "the warden process does not act: killing the command",
                   {{"warden", std::int64_t{warden_.pid}}}});
    }
    if (now >= continue_at_) continue_command();
    return std::min(ending_ ? ending_->step() : backstop_, continue_at_);
}

void Keeper::serve_signals() {
    while (const auto info = signals_.next()) {
        const int signal = static_cast<int>(info->ssi_signo);
        if (signal == SIGCHLD) {
            reap();
            continue;
        }
        // The warden continues us together with the command: that is no news for the command.
        const bool from_warden = info->ssi_pid == static_cast<std::uint32_t>(warden_.pid);
        if (from_warden || ending_) continue;
        if (signal == SIGTSTP) continue_at_ = guard::never;  // this stop is newer
        if (signal == SIGCONT && shares_group_) {
            continue_at_ = BootClock::now() + group_continues;
            continue;
        }
        tell_warden({reached_command(*info) ? Message::noticed : Message::signal, signal});
    }
}

/// A shell continues the whole group, and a second CONT might undo a stop that came in between; so
/// CONT is passed on only to a command that is still stopped then.
void Keeper::continue_command() {
    continue_at_ = guard::never;
    if (ending_ || !is_stopped(command_)) return;
    lend_terminal(command_);
    tell_warden({Message::signal, SIGCONT});
}

/// Whether the command has met this signal already, since it is in our process group.
bool Keeper::reached_command(const signalfd_siginfo& info) const {
    if (!shares_group_) return false;
    if (info.ssi_code == SI_KERNEL) {
        // Of the terminal's signals only the hang-up goes to the session's leader alone.
        return info.ssi_signo != SIGHUP || getsid(0) != getpid();
    }
    // `kill 0` in the command: it meant its own group, and that is ours.
    return info.ssi_pid != 0 && is_descendant(static_cast<pid_t>(info.ssi_pid));
}

void Keeper::reap() {
    for (int status = 0;;) {
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0) break;
        if (pid == command_) status_ = status;
    }
    if (ending_ && tree_is_gone()) tree_has_ended();
}

/// The command's, after this process had to end the tree itself.
void Keeper::tree_has_ended() {
    killed_ = killed_ || ending_->killed();
    if (start_cleanup()) return;
    if (is_second_warden_) told_unclean("the cleanup was killed");
    end_ = RunEnd{RunEnd::warden_killed, status_.value_or(0)};
}

/// What a warden would have done that was killed is done by another one.
bool Keeper::start_cleanup() {
    if (!cleanup_order_.cleans_up() || is_second_warden_) return false;
    is_second_warden_ = true;
    auto warden = Warden::fork(original_);
    if (!warden) return false;
    cleanup_order_.deadline = deadline_;
    cleanup_order_.wait_status = status_.value_or(W_EXITCODE(0, SIGKILL));
    warden_ = std::move(*warden);
    ending_.reset();
    unsent_.clear();
    cleaning_ = true;
    watch_over(deadline_);
    return warden_.channel.send({Message::start, 0, cleanup_order_.serialized()});
}

/// One line for each complaint.
void Keeper::told_unclean(const std::string& complaints) {
    cleanup_ = Cleanup::failed;
    std::istringstream lines{complaints};
    for (std::string line; std::getline(lines, line);)
        reporter_({Level::error, "cleanup-failed", line});
}

bool Keeper::tree_is_gone() const {
    // A warden that was killed is one of the children until it is reaped, here or before the run.
    const auto& earlier = warden_.earlier_children;
    if (earlier.empty()) return !has_children();
    return std::ranges::all_of(children(), [&](pid_t child) {
        return std::ranges::find(earlier, child) != earlier.end();
    });
}

void Keeper::serve_channel() {
    const auto message = warden_.channel.receive();
    if (!message) {
        take_over(std::min(BootClock::now() + (cleaning_ ? guard::Duration{} : grace_), backstop_));
        reporter_({Level::error,
                   "warden-killed",
                   "the warden process was killed: ending the command",
                   {{"warden", std::int64_t{warden_.pid}}}});
        return;
    }
    const int number = static_cast<int>(message->number);
    switch (message->kind) {
        case Message::started:
            command_ = number;
            break;
        case Message::ending:
            ran_out_ = true;
            reporter_({Level::error, "lease-lost", "the lease is running out: ending the command"});
            break;
        case Message::killing:
            killed_ = true;
            backstop_ = guard::never;  // it acts; nobody could do more
            break;
        case Message::survivor:
            reporter_(
                {Level::error,
                 "not-killed",
                 "process " + std::to_string(number) +
                     " cannot be killed (another user's, or stuck in the kernel): the slot stays "
                     "closed while it lives and the lease can be renewed",
                 {{"pid", message->number}}});
            break;
        case Message::cleaning:
            cleaning_ = true;
            watch_over(deadline_);
            break;
        case Message::cleaned:
            cleanup_ = Cleanup::done;
            break;
        case Message::work_left:
            reporter_(
                {Level::warning, "work-left",
                 "what ran in the container had not ended with its client and had to be ended"});
            break;
        case Message::unclean:
            told_unclean(message->bytes);
            break;
        case Message::as_asked:
            ended_as_asked_ = true;
            break;
        case Message::ended:
            end_ = RunEnd{is_second_warden_ ? RunEnd::warden_killed : RunEnd::ended, number};
            break;
        case Message::no_exec:
            end_ = RunEnd{RunEnd::no_exec, number};
            break;
        case Message::no_start:
            end_ = RunEnd{RunEnd::no_start, 0, message->bytes};
            break;
        case Message::late:
            end_ = RunEnd{RunEnd::late};
            break;
        default:
            break;
    }
}

/// From here on this process ends the tree itself; as a subreaper it is given all of it.
void Keeper::take_over(Deadline kill_at) {
    ending_.emplace(kill_at, warden_.earlier_children);
    reap();
}

void Keeper::stop() {
    if (end_ || ending_) return;
    const Deadline kill_at = BootClock::now() + grace_;
    tell_warden({Message::stop, kill_at.time_since_epoch().count()});
    backstop_ = std::min(backstop_, kill_at + margin_);
}

RunEnd Keeper::finish() {
    while (wait(-1, 0, guard::never) != Wake::interrupted) {
    }
    return *end_;
}

}  // namespace run
