#include "run/command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "run/status.hpp"

namespace run {
namespace {

/// What exec takes, made ahead: between vfork and exec nothing may be allocated. execvpe takes
/// char*, yet changes nothing.
struct Program {
    std::vector<char*> argv;
    std::vector<char*> environment;

    Program(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
        argv.reserve(command.size() + 1);
        for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        for (char** old = environ; *old != nullptr; ++old) {
            const bool replaced = std::ranges::any_of(variables, [&](const std::string& variable) {
                return std::strncmp(*old, variable.c_str(), variable.find('=') + 1) == 0;
            });
            if (!replaced) environment.push_back(*old);
        }
        for (const auto& variable : variables)
            environment.push_back(const_cast<char*>(variable.c_str()));
        environment.push_back(nullptr);
    }

    [[nodiscard]] int exec(const OriginalSignals& original) noexcept {
        original.restore();
        execvpe(argv[0], argv.data(), environment.data());
        return errno;
    }
};

/// Between vfork and exec a stop would hold the parent as well, which waits for the exec. That puts
/// the default action back, as for every signal with a handler.
void put_off_stop() noexcept {
    if (::signal(SIGTSTP, [](int) {}) == SIG_IGN) ::signal(SIGTSTP, SIG_IGN);
}

/// Stay in the group of the parent. (0, for setpgid(2): make one.)
constexpr pid_t no_group = -1;

/// By vfork(2): the child borrows our memory until its exec, so nothing is copied, and a pid that
/// is returned has run its exec. Not posix_spawn(3): that cannot ask for PDEATHSIG.
pid_t fork_and_exec(Program& program, pid_t group, const OriginalSignals& original, int error_to) {
    const pid_t warden = getpid();
    const pid_t pid = vfork();
    if (pid != 0) return pid;
    if (group != no_group) setpgid(0, group);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0L, 0L, 0L);
    if (getppid() != warden) _exit(1);  // it died before prctl
    put_off_stop();
    const int error = program.exec(original);
    (void)!write(error_to, &error, sizeof error);
    _exit(status_of_exec(error));
}

}  // namespace

int exec(const std::vector<std::string>& command, const std::vector<std::string>& environment,
         const OriginalSignals& original) noexcept {
    return Program{command, environment}.exec(original);
}

int Command::failure() const noexcept {
    int error = 0;
    return read(exec_error.get(), &error, sizeof error) == sizeof error ? error : 0;
}

NewGroup::NewGroup() noexcept : leader_(vfork()) {
    if (leader_ == 0) {
        setpgid(0, 0);
        _exit(0);
    }
}

NewGroup::~NewGroup() {
    if (leader_ > 0) waitpid(leader_, nullptr, 0);
}

guard::Result<Command> start(const Order& order, pid_t group, const OriginalSignals& original) {
    const auto failed = [](const char* what) {
        return guard::Error{guard::Fault::system, std::string(what) + ": " + std::strerror(errno)};
    };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
    guard::Descriptor read_end{ends[0]};
    const guard::Descriptor write_end{ends[1]};

    Program program{order.command, order.environment};
    const pid_t pid =
        fork_and_exec(program, order.own_group ? group : no_group, original, write_end.get());
    if (pid < 0) return failed("fork");
    // Here, in its group, TSTP is blocked: what it may have missed is still pending. Sent at once,
    // it does nothing to a command that had it and stopped: CONT discards it.
    if (!order.own_group && is_pending(SIGTSTP)) kill(pid, SIGTSTP);
    return Command{pid, order.own_group ? (group > 0 ? group : pid) : getpgrp(),
                   std::move(read_end)};
}

}  // namespace run
