#include "run/warden.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "run/command.hpp"
#include "run/inherited.hpp"
#include "run/order.hpp"
#include "run/timer.hpp"
#include "run/tree.hpp"

namespace run {
namespace {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Deadline;

Deadline to_deadline(std::int64_t nanoseconds) noexcept {
    return Deadline{guard::Duration{nanoseconds}};
}

/// The warden's life from the moment the command runs.
class Watch {
public:
    Watch(Channel& channel, Order order, Command command, pid_t keeper)
        : channel_(channel),
          order_(std::move(order)),
          command_(std::move(command)),
          keeper_(keeper),
          deadline_(order_.deadline) {}

    /// Returns when nothing is left to watch.
    void run();

private:
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] Deadline last_call() const noexcept;
    [[nodiscard]] Deadline act(Deadline now);
    void obey();
    void obey(const Message& message);
    void pass_on(int signal) const;
    void reap();
    void note(const siginfo_t& child);
    void end_tree(Deadline kill_at);
    void report() const;

    Channel& channel_;
    Order order_;
    Command command_;
    pid_t keeper_;
    Deadline deadline_;
    SignalReader signals_ = SignalReader::for_warden();
    TimedPoll poll_;

    std::optional<int> status_;      ///< the command's, once it has ended
    std::optional<TreeEnd> ending_;  ///< set from the first TERM on
    bool told_killing_ = false;
    bool asked_to_end_ = false;      ///< a signal that ends runs has reached the command
    bool keeper_stops_too_ = false;  ///< a TSTP came by the keeper
};

void Watch::run() {
    for (Deadline next = last_call(); !over();) {
        std::array<pollfd, 3> fds{{{channel_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {}}};
        poll_.wait(fds, next);
        if (fds[1].revents != 0) reap();
        // News first: whoever was stopped for a while finds a deadline that moved meanwhile.
        const auto now = BootClock::now();
        if (fds[0].revents != 0) {
            obey();
            next = now;
        } else {
            next = act(now);
        }
    }
    report();
}

/// Whether the run has ended as far as it has to: DESIGN section 5.
bool Watch::over() const noexcept {
    const bool whole_tree = ending_ || order_.wait_descendants || asked_to_end_;
    return status_ && (!whole_tree || !has_children());
}

/// When the tree gets its TERM, so that it has its grace before the KILL and is gone by the deadline.
Deadline Watch::last_call() const noexcept {
    return deadline_ == guard::never ? guard::never : deadline_ - order_.margin - order_.grace;
}

/// Does what the time asks for; returns when to look again.
Deadline Watch::act(Deadline now) {
    if (!ending_ && status_ && asked_to_end_) end_tree(now + order_.grace);
    if (!ending_ && now >= last_call()) {
        channel_.offer({Message::ending});
        end_tree(deadline_ - order_.margin);
    }
    if (!ending_) return last_call();
    const Deadline next = ending_->step();
    if (ending_->killed() && !told_killing_) {
        told_killing_ = true;
        channel_.offer({Message::killing});
    }
    return next;
}

void Watch::end_tree(Deadline kill_at) {
    if (ending_)
        ending_->hurry(kill_at);
    else
        ending_.emplace(kill_at, std::vector<pid_t>{});
}

void Watch::obey() {
    if (const auto message = channel_.receive()) return obey(*message);
    // The keeper is gone, and its renewals with it. Nobody else is left to say so.
    (void)!write(STDERR_FILENO, order_.last_words.data(), order_.last_words.size());
    channel_.close();
    const Deadline at_the_latest =
        deadline_ == guard::never ? guard::never : deadline_ - order_.margin;
    end_tree(std::min(BootClock::now() + order_.grace, at_the_latest));
}

void Watch::obey(const Message& message) {
    switch (message.kind) {
        case Message::deadline:
            deadline_ = to_deadline(message.number);
            break;
        case Message::signal:
            pass_on(static_cast<int>(message.number));
            keeper_stops_too_ = message.number == SIGTSTP;
            [[fallthrough]];
        case Message::noticed:
            asked_to_end_ = asked_to_end_ || asks_to_end(static_cast<int>(message.number));
            break;
        case Message::stop:
            end_tree(to_deadline(message.number));
            break;
        default:
            break;
    }
}

/// To the command, or to its process group where it has one of its own.
void Watch::pass_on(int signal) const {
    if (status_) {  // its pid may be another's by now
        for (const pid_t pid : descendants()) kill(pid, signal);
        return;
    }
    if (!order_.own_group) {
        kill(command_.pid, signal);
        return;
    }
    // Our session is not the command's, so its group is orphaned and TSTP's default action would be
    // dropped: setpgid(2), "orphaned process group".
    kill(-command_.pid, signal == SIGTSTP ? SIGSTOP : signal);
}

void Watch::reap() {
    while (signals_.next()) {
    }
    for (siginfo_t child{}; waitid(P_ALL, 0, &child, WEXITED | WSTOPPED | WCONTINUED | WNOHANG) == 0;
         child = {}) {
        if (child.si_pid == 0) return;
        if (child.si_pid == command_.pid) note(child);
    }
}

/// The keeper stops and continues with the command, so that the shell which waits for it sees what it
/// would see of the command. Done from here, in the order in which it happened to the command.
void Watch::note(const siginfo_t& child) {
    const bool keeper_lives = getppid() == keeper_;
    switch (child.si_code) {
        case CLD_STOPPED:
            if (keeper_lives && !ending_ && (!order_.own_group || keeper_stops_too_))
                kill(keeper_, SIGSTOP);
            break;
        case CLD_CONTINUED:
            if (keeper_lives) kill(keeper_, SIGCONT);
            break;
        case CLD_EXITED:
            status_ = W_EXITCODE(child.si_status, 0);
            break;
        default:  // CLD_KILLED, CLD_DUMPED
            status_ = W_EXITCODE(0, child.si_status);
            break;
    }
}

void Watch::report() const {
    if (const int error = command_.failure(); error != 0)
        channel_.send({Message::no_exec, error});
    else
        channel_.send({Message::ended, *status_});
}

guard::Error no_proc() {
    return {guard::Fault::system,
            "/proc cannot be read, and without it the command's descendants cannot be found: mount it"};
}

/// The whole of the warden process.
void stand_guard(Channel& channel, const OriginalSignals& original, pid_t keeper) {
    prctl(PR_SET_NAME, "sandbox-warden");  // seen by ps; killall of the keeper's name misses it
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    become_subreaper();
    close_own(channel.fd());
    const bool sees_tree = can_see_tree();

    const auto first = channel.receive();
    if (!first || first->kind != Message::start) return;
    auto order = Order::deserialized(first->bytes);
    if (BootClock::now() >= order.deadline - order.margin) {
        channel.send({Message::late});
        return;
    }
    auto command = sees_tree ? start(order, original) : guard::Result<Command>(no_proc());
    if (!command) {
        channel.send({Message::no_start, 0, command.error().text});
        return;
    }
    channel.offer({Message::started, command->pid});
    // Only now: the command stays in the keeper's session, where its terminal is.
    setsid();
    close_inherited();
    Watch(channel, std::move(order), std::move(*command), keeper).run();
}

}  // namespace

guard::Result<Warden> Warden::fork(const OriginalSignals& original) {
    auto channels = Channel::pair();
    if (!channels) return channels.error();
    auto& [ours, its] = *channels;
    std::vector<pid_t> earlier = has_children() ? children() : std::vector<pid_t>{};
    const pid_t keeper = getpid();
    const pid_t pid = ::fork();
    if (pid < 0)
        return guard::Error{guard::Fault::system, std::string("fork: ") + std::strerror(errno)};
    if (pid == 0) {
        ours.close();
        stand_guard(its, original, keeper);
        _exit(0);
    }
    return Warden{pid, std::move(ours), std::move(earlier)};
}

void Warden::dismiss() noexcept {
    channel.close();
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace run
