#include "run/cleaner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "container/work.hpp"
#include "run/command.hpp"
#include "run/status.hpp"
#include "run/timer.hpp"
#include "run/tree.hpp"

namespace run {
namespace {

using namespace std::chrono_literals;
using guard::after;
using guard::BootClock;
using guard::Deadline;

/// What a cleanup command has between TERM and KILL when its time is over.
constexpr guard::Duration cleanup_grace = 1s;

std::string name_of(Reason reason) {
    constexpr std::array<const char*, 4> names{"exit", "signal", "lost", "interrupted"};
    return names[static_cast<std::size_t>(reason)];
}

std::string contents(int fd) {
    std::array<char, 4096> buffer{};
    const ssize_t size = fd < 0 ? 0 : read(fd, buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

void complain(int complaints, const std::string& text) {
    const std::string line = text + "\n";
    (void)!write(complaints, line.data(), line.size());
}

/// Cleanup commands get no input, and what they print does not mix with the command's output.
pid_t start(const std::string& command, const std::vector<std::string>& environment,
            const OriginalSignals& original) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)exec({"/bin/sh", "-c", command}, environment, original);
    _exit(127);
}

/// Waits for children of this process until `pid` has ended; its wait status, or none at `until`.
class Reaper {
public:
    std::optional<int> wait_for(pid_t pid, Deadline until) {
        for (;;) {
            while (signals_.next()) {
            }
            for (int status = 0;;) {
                const pid_t child = waitpid(-1, &status, WNOHANG);
                if (child == pid) return status;
                if (child <= 0) break;
            }
            if (BootClock::now() >= until) return std::nullopt;
            std::array<pollfd, 2> fds{{{signals_.fd(), POLLIN, 0}, {}}};
            poll_.wait(fds, until);
        }
    }

private:
    SignalReader signals_ = SignalReader::for_warden();
    TimedPoll poll_;
};

/// Runs one cleanup command; why it failed, if it did.
std::optional<std::string> run_cleanup(const std::string& command,
                                       const std::vector<std::string>& environment,
                                       guard::Duration timeout, const OriginalSignals& original) {
    const auto others = descendants();
    Reaper reaper;
    const pid_t pid = start(command, environment, original);
    if (pid < 0) return "cannot be started";
    auto status = reaper.wait_for(pid, after(BootClock::now(), timeout));
    if (status) {
        if (*status == 0) return std::nullopt;
        return "ended with status " + std::to_string(status_of_wait(*status));
    }
    TreeEnd end{after(BootClock::now(), cleanup_grace), others};
    while (!reaper.wait_for(pid, end.step())) {
    }
    return "did not end in time (--cleanup-timeout) and was ended";
}

}  // namespace

int counted_status(const Ending& ending, Cleaned cleaned) noexcept {
    const bool lost_work = cleaned.work_left && ending.wait_status == 0;
    return lost_work ? W_EXITCODE(0, SIGTERM) : ending.wait_status;
}

Cleaned clean(const Order& order, const Ending& ending, const guard::Descriptor& container_id,
              const OriginalSignals& original, int complaints) {
    become_subreaper();
    Cleaned cleaned;
    if (order.container) {
        const auto& target = *order.container;
        const auto id = container::id_in(contents(container_id.get()), target);
        const auto settled =
            container::settle(target, id, {ending.forced, ending.started, ending.kill_at},
                              after(BootClock::now(), order.cleanup_timeout));
        cleaned.work_left = settled.had_work;
        if (!settled.failure.empty()) {
            cleaned.badly = true;
            complain(complaints, "container '" + target.name + "': " + settled.failure);
        }
    }

    const int status = ending.reason == Reason::lost
                           ? order.status_if_lost
                           : status_of_wait(counted_status(ending, cleaned));
    auto environment = order.environment;
    environment.push_back("SANDBOX_LOCK_REASON=" + name_of(ending.reason));
    environment.push_back("SANDBOX_LOCK_STATUS=" + std::to_string(status));
    for (std::size_t i = 0; i < order.cleanups.size(); ++i) {
        const auto failure =
            run_cleanup(order.cleanups[i], environment, order.cleanup_timeout, original);
        if (!failure) continue;
        cleaned.badly = true;
        // By number: it may hold a secret.
        complain(complaints, "cleanup command " + std::to_string(i + 1) + " " + *failure);
    }
    return cleaned;
}

}  // namespace run
