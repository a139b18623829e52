#include "run/watch.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "container/call.hpp"
#include "container/work.hpp"
#include "run/cleaning.hpp"
#include "run/last_words.hpp"

namespace run {

using guard::BootClock;
using guard::Deadline;

namespace {

/// So many messages at most are read before the clock is looked at again.
constexpr int most_at_once = 64;

/// So long it is tried to find an exec's processes in the container, for a signal to them.
constexpr guard::Duration longest_search = std::chrono::seconds{2};

/// Their meaning is the command's own; its descendants would die of them.
bool is_for_command_alone(int signal) noexcept {
    return signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGWINCH;
}

/// Whether a signal for `docker exec` goes to what it has started: its client passes none on, but
/// for a new size of the terminal.
bool goes_inside(int signal) noexcept {
    return asks_to_end(signal) || signal == SIGUSR1 || signal == SIGUSR2;
}

}  // namespace

Watch::Watch(Channel& channel, Order order, Command command, const OriginalSignals& original,
             pid_t keeper)
    : channel_(channel),
      order_(std::move(order)),
      command_(std::move(command)),
      original_(original),
      keeper_(keeper),
      deadline_(order_.deadline) {
    // Done beside the client's start. Should it hang, it ends with the tree.
    if (runs_exec()) container_id_ = container::start(container::ask_for_id(*order_.container));
}

void Watch::run() {
    for (Deadline next = last_call(); !over();) {
        std::array<pollfd, 3> fds{{{channel_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {}}};
        poll_.wait(fds, next);
        if (fds[1].revents != 0) reap();
        // News first: whoever was stopped for a while finds a deadline that moved meanwhile.
        if (fds[0].revents != 0) read_news();
        next = act(BootClock::now());
    }
    if (order_.cleans_up()) clean_up();
    report();
}

bool Watch::runs_exec() const noexcept {
    return order_.container && order_.container->is_exec;
}

/// Whether the run has ended as far as it has to: DESIGN section 5.
bool Watch::over() const noexcept {
    return status_ && (!whole_tree_counts() || !has_children());
}

bool Watch::whole_tree_counts() const noexcept {
    return ending_ || order_.wait_descendants || ended_as_asked_;
}

/// When the tree gets its TERM, so that it has its grace before the KILL and is gone by the
/// deadline.
Deadline Watch::last_call() const noexcept {
    return deadline_ == guard::never ? guard::never : deadline_ - order_.margin - order_.grace;
}

/// Does what the time asks for; returns when to look again.
Deadline Watch::act(Deadline now) {
    if (!ending_ && ended_as_asked_) end_tree(now + order_.grace);
    if (!ending_ && now >= last_call()) {
        lost_ = true;
        end_tree(deadline_ - order_.margin);
        channel_.offer({Message::ending});
    }
    if (!ending_) return last_call();
    const Deadline next = ending_->step();
    if (ending_->killed() && !told_killing_) {
        told_killing_ = true;
        channel_.offer({Message::killing});
    }
    if (ending_->survivor() && !told_survivor_) {
        told_survivor_ = true;
        channel_.offer({Message::survivor, *ending_->survivor()});
    }
    return next;
}

/// `kill_at`, or earlier where the tree would not be gone by the deadline.
Deadline Watch::in_time(Deadline kill_at) const noexcept {
    return deadline_ == guard::never ? kill_at : std::min(kill_at, deadline_ - order_.margin);
}

void Watch::end_tree(Deadline kill_at) {
    kill_at = in_time(kill_at);
    if (ending_) return ending_->hurry(kill_at);
    // An exec's client would only leave: it ends with what runs in the container.
    ending_.emplace(kill_at, std::vector<pid_t>{}, runs_exec() ? 0 : SIGTERM);
    if (runs_exec()) signal_inside(SIGTERM);
}

void Watch::read_news() {
    for (int i = 0; i < most_at_once && channel_.readable(); ++i) {
        const auto message = channel_.receive();
        if (!message) return keeper_is_gone();
        obey(*message);
    }
}

/// Its renewals are gone with it, so the tree ends well before the deadline does. Nobody else is
/// left to say so.
void Watch::keeper_is_gone() {
    channel_.close();
    end_tree(BootClock::now() + order_.grace);
    write_last_words(order_.last_words);
}

void Watch::obey(const Message& message) {
    const int number = static_cast<int>(message.number);
    switch (message.kind) {
        case Message::deadline:
            deadline_ = Deadline{guard::Duration{message.number}};
            break;
        case Message::signal:
            note_signal(number);
            pass_on(number);
            if (order_.container && asks_to_end(number) && original_.heeded(number)) end_soon();
            break;
        case Message::noticed:
            note_signal(number);
            break;
        case Message::stop:
            lost_ = true;
            end_tree(Deadline{guard::Duration{message.number}});
            break;
        default:
            break;
    }
}

/// A signal that the command ignores from the start asks it for nothing.
void Watch::note_signal(int signal) {
    if (asks_to_end(signal) && original_.heeded(signal)) asked_to_end_ = BootClock::now();
}

/// Who asks for the end of a container's work wants it ended, as by `docker stop`: it has got its
/// signal, and gets KILL after the grace.
void Watch::end_soon() {
    if (!ending_ && !status_)
        ending_.emplace(in_time(BootClock::now() + order_.grace), std::vector<pid_t>{}, 0);
}

/// By a process of its own, as the engine may hang. Where what runs inside cannot be reached, the
/// client gets the signal, and what it leaves is met when it has ended.
void Watch::signal_inside(int signal) {
    const auto client = command_.pid;
    const pid_t pid = fork_aside(channel_, [&] {
        const auto lives = [client] { return kill(client, 0) == 0; };
        return container::deliver(*order_.container, signal, is_for_command_alone(signal), lives,
                                  BootClock::now() + longest_search)
                   ? 0
                   : 1;
    });
    if (pid < 0)
        kill(client, signal);
    else
        deliveries_[pid] = signal;
}

void Watch::pass_on(int signal) {
    reap();
    if (status_) {  // its pid may be another's by now
        for (const pid_t pid : descendants()) kill(pid, signal);
        return;
    }
    if (runs_exec() && goes_inside(signal)) return signal_inside(signal);
    keeper_stops_too_ = signal == SIGTSTP;
    if (is_for_command_alone(signal) || !order_.own_group)
        kill(command_.pid, signal);
    else
        pass_on_to_group(signal);
}

/// To the group that the command was started in, while it is there; a command that made a session
/// or a group of its own gets the signal alone.
void Watch::pass_on_to_group(int signal) const {
    const bool is_there = getpgid(command_.pid) == command_.group;
    const pid_t target = is_there ? -command_.group : command_.pid;
    // Our session is not the command's, so its group is orphaned, and in such a group TSTP's
    // default action is dropped: setpgid(2).
    const bool needs_stop = signal == SIGTSTP && has_default_action(command_.pid, SIGTSTP);
    kill(target, needs_stop ? SIGSTOP : signal);
}

void Watch::reap() {
    while (signals_.next()) {
    }
    for (siginfo_t child{};
         waitid(P_ALL, 0, &child, WEXITED | WSTOPPED | WCONTINUED | WNOHANG) == 0; child = {}) {
        if (child.si_pid == 0) return;
        if (child.si_pid == command_.pid) note(child);
        if (auto delivery = deliveries_.extract(child.si_pid)) {
            const bool arrived = child.si_code == CLD_EXITED && child.si_status == 0;
            if (!arrived && !status_) kill(command_.pid, delivery.mapped());
        }
    }
}

/// The keeper stops and continues with the command, so that the shell which waits for it sees what
/// it would see of the command. Done from here, in the order in which it happened to the command.
void Watch::note(const siginfo_t& child) {
    switch (child.si_code) {
        case CLD_STOPPED:
            stopped_ = true;
            if (!ending_ && (!order_.own_group || keeper_stops_too_)) let_keeper(SIGSTOP);
            break;
        case CLD_CONTINUED:
            stopped_ = false;
            let_keeper(SIGCONT);
            break;
        case CLD_EXITED:
            note_end(W_EXITCODE(child.si_status, 0));
            break;
        default:  // CLD_KILLED, CLD_DUMPED
            note_end(W_EXITCODE(0, child.si_status));
            break;
    }
}

void Watch::note_end(int status) {
    status_ = status;
    if (stopped_) let_keeper(SIGCONT);  // it stopped with the command, and has to tell of its end
    if (!asked_to_end_) return;
    // A signal that the command handled long ago, like Ctrl-C at a prompt, is not why it ends now.
    const bool by_signal = WIFSIGNALED(status) || WEXITSTATUS(status) > 128;
    ended_as_asked_ = by_signal || BootClock::now() - *asked_to_end_ <= order_.grace;
}

void Watch::let_keeper(int signal) const {
    if (getppid() == keeper_) kill(keeper_, signal);
}

Ending Watch::ending() const {
    const bool by_signal = WIFSIGNALED(*status_);
    const bool asked = ended_as_asked_ || channel_.fd() < 0;
    const Reason reason = lost_       ? Reason::lost
                          : asked     ? Reason::interrupted
                          : by_signal ? Reason::signal
                                      : Reason::exit;
    return {reason, *status_, ending_ || ended_as_asked_ || by_signal, started_,
            ending_ ? ending_->kill_at() : BootClock::now() + order_.grace};
}

void Watch::clean_up() {
    Cleaning cleaning{channel_, order_, original_, deadline_};
    status_ = cleaning.run(ending(), container_id_);
}

void Watch::report() const {
    if (ended_as_asked_) channel_.send({Message::as_asked});
    if (const int error = command_.failure(); error != 0)
        channel_.send({Message::no_exec, error});
    else
        channel_.send({Message::ended, *status_});
}

}  // namespace run
