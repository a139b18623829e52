#include "run/cleaning.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>

#include "run/last_words.hpp"
#include "run/timer.hpp"
#include "run/tree.hpp"

namespace run {
namespace {

using namespace std::chrono_literals;
using guard::after;
using guard::BootClock;
using guard::Deadline;

/// What a step that overran its time may take to end.
constexpr guard::Duration overrun = 2s;

}  // namespace

pid_t fork_aside(Channel& channel, const std::function<int()>& work) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    channel.close();  // its end is the warden's death
    prctl(PR_SET_NAME, "sandbox-cleaner");
    _exit(work());
}

int Cleaning::run(const Ending& ending, const guard::Descriptor& container_id) {
    channel_.offer({Message::cleaning});
    const auto steps = static_cast<int>(order_.cleanups.size()) + (order_.container ? 1 : 0);
    at_the_latest_ = after(BootClock::now(), steps * (order_.cleanup_timeout + overrun));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        report({.badly = true}, "the cleanup cannot be started: no pipe");
        return ending.wait_status;
    }
    const guard::Descriptor read_end{ends[0]};
    guard::Descriptor write_end{ends[1]};
    auto left_behind = descendants();  // by the command, in the background
    const pid_t cleaner = fork_aside(channel_, [&] {
        return clean(order_, ending, container_id, original_, write_end.get()).as_status();
    });
    write_end.reset();
    const auto status = cleaner < 0 ? std::nullopt : watch(cleaner, std::move(left_behind));
    const bool ended = status && WIFEXITED(*status);
    const auto cleaned =
        ended ? Cleaned::from_status(WEXITSTATUS(*status)) : Cleaned{.badly = true};

    fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // what a cleanup command left running may have it
    std::array<char, PIPE_BUF> text{};
    const ssize_t size = read(read_end.get(), text.data(), text.size());
    std::string complaints{text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    if (!ended)
        complaints += status ? "the cleanup was killed\n" : "the cleanup did not end in time\n";
    report(cleaned, complaints);
    return counted_status(ending, cleaned);
}

/// When the cleaner has to be gone: some time before the lease is over.
Deadline Cleaning::limit() const noexcept {
    const Deadline by_lease =
        deadline_ == guard::never ? guard::never : deadline_ - order_.margin / 4;
    return std::min(by_lease, at_the_latest_);
}

/// Its wait status; none if it ran out of time and was ended. What it has started must not outlive
/// it, as that has to be gone when the slot is free, unless it ended by itself.
std::optional<int> Cleaning::watch(pid_t cleaner, std::vector<pid_t> spared) {
    const SignalReader signals = SignalReader::for_warden();
    TimedPoll poll;
    std::optional<TreeEnd> ending;
    std::optional<int> killed;
    bool reaped = false;
    for (Deadline next = limit();;) {
        std::array<pollfd, 3> fds{{{channel_.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {}}};
        poll.wait(fds, next);
        while (signals.next()) {
        }
        if (fds[0].revents != 0) read_news();
        for (int status = 0;;) {
            const pid_t pid = waitpid(-1, &status, WNOHANG);
            if (pid == cleaner && !ending) {
                if (WIFEXITED(status)) return status;
                killed = status;
                ending.emplace(BootClock::now(), std::move(spared), 0);
            }
            reaped = reaped || pid == cleaner;
            if (pid <= 0) break;
        }
        if (reaped && ending->gone()) return killed;
        const auto now = BootClock::now();
        if (!ending && now >= limit()) ending.emplace(now, std::move(spared), 0);
        next = ending ? ending->step() : limit();
    }
}

/// Signals are for the command, which has ended.
void Cleaning::read_news() {
    const auto message = channel_.receive();
    if (!message) {
        channel_.close();
        write_last_words(order_.last_words);
    } else if (message->kind == Message::deadline) {
        deadline_ = Deadline{guard::Duration{message->number}};
    }
}

void Cleaning::report(Cleaned cleaned, const std::string& complaints) {
    if (cleaned.work_left) channel_.send({Message::work_left});
    if (!cleaned.badly)
        channel_.send({Message::cleaned});
    else if (channel_.fd() < 0)
        write_last_words("sandbox-lock: " + complaints);
    else
        channel_.send({Message::unclean, 0, complaints});
}

}  // namespace run
