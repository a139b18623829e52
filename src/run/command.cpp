#include "run/command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace run {

int exec(const std::vector<std::string>& command, const std::vector<std::string>& environment,
         const OriginalSignals& original) noexcept {
    // execvp and putenv take char*, yet change nothing.
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    for (const auto& variable : environment) putenv(const_cast<char*>(variable.c_str()));
    original.restore();
    execvp(argv[0], argv.data());
    return errno;
}

int Command::failure() const noexcept {
    int error = 0;
    return read(exec_error.get(), &error, sizeof error) == sizeof error ? error : 0;
}

guard::Result<Command> start(const Order& order, const OriginalSignals& original) {
    const auto failed = [](const char* what) {
        return guard::Error{guard::Fault::system, std::string(what) + ": " + std::strerror(errno)};
    };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
    guard::Descriptor read_end{ends[0]};
    const guard::Descriptor write_end{ends[1]};

    const pid_t warden = getpid();
    const pid_t pid = fork();
    if (pid < 0) return failed("fork");
    if (pid == 0) {
        if (order.own_group) setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0L, 0L, 0L);
        if (getppid() != warden) _exit(1);  // it died before prctl
        const int error = exec(order.command, order.environment, original);
        (void)!write(write_end.get(), &error, sizeof error);
        _exit(127);
    }
    if (order.own_group) setpgid(pid, pid);  // here too: whoever comes first
    return Command{pid, std::move(read_end)};
}

}  // namespace run
