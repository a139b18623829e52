#include "run/warden.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "run/cleaning.hpp"
#include "run/command.hpp"
#include "run/inherited.hpp"
#include "run/order.hpp"
#include "run/tree.hpp"
#include "run/watch.hpp"

namespace run {
namespace {

using guard::BootClock;

guard::Error no_proc() {
    return {
        guard::Fault::system,
        "/proc cannot be read, and without it the command's descendants cannot be found: mount it"};
}

/// What a warden left undone that was killed.
void clean_up(Channel& channel, const Order& order, const OriginalSignals& original) {
    const auto now = BootClock::now();
    Cleaning cleaning{channel, order, original, order.deadline};
    const int status =
        cleaning.run({Reason::interrupted, order.wait_status, true, now - order.grace, now}, {});
    channel.send({Message::ended, status});
}

/// The whole of the warden process.
void stand_guard(Channel& channel, const OriginalSignals& original, pid_t keeper) {
    prctl(PR_SET_NAME, "sandbox-warden");  // seen by ps; killall of the keeper's name misses it
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    // Should the keeper die while this process is stopped, it has to wake up to end the tree.
    prctl(PR_SET_PDEATHSIG, SIGCONT, 0L, 0L, 0L);
    become_subreaper();
    const bool sees_proc = close_own(channel.fd());
    const NewGroup group;  // made now, while there is time

    const auto first = channel.receive();  // its descriptor stays open for as long as we live
    if (!first || first->kind != Message::start) return;
    auto order = Order::deserialized(first->bytes);
    if (order.command.empty()) {
        setsid();
        close_inherited();
        clean_up(channel, order, original);
        return;
    }
    if (BootClock::now() >= order.deadline - order.margin) {
        channel.send({Message::late});
        return;
    }
    auto command =
        sees_proc ? start(order, group.id(), original) : guard::Result<Command>(no_proc());
    if (!command) {
        channel.send({Message::no_start, 0, command.error().text});
        return;
    }
    channel.offer({Message::started, command->pid});
    // Only now: the command stays in the keeper's session, where its terminal is.
    setsid();
    close_inherited();
    Watch(channel, std::move(order), std::move(*command), original, keeper).run();
}

}  // namespace

guard::Result<Warden> Warden::fork(const OriginalSignals& original) {
    auto channels = Channel::pair();
    if (!channels) return channels.error();
    auto& [ours, its] = *channels;
    // Before the fork: the kernel marks all descendants of a new subreaper, in the word that holds
    // their own subreaper flag and without a lock, so a warden that sets its flag just then may
    // lose it.
    const bool was_subreaper = is_subreaper();
    become_subreaper();
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
    return Warden{pid, std::move(ours), std::move(earlier), was_subreaper};
}

void Warden::dismiss() noexcept {
    channel.close();
    become_subreaper(was_subreaper);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace run
