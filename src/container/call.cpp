#include "container/call.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>

#include "guard/descriptor.hpp"

namespace container {
namespace {

using guard::BootClock;
using guard::Deadline;
using guard::Descriptor;

/// The client in a process group of its own, so that its helpers are killed with it.
pid_t spawn(const std::vector<std::string>& words, int output) {
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error == 0 ? pid : -1;
}

struct Client {
    pid_t pid = -1;
    Descriptor output = {};  ///< does not block
};

Client run(const std::vector<std::string>& words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    Descriptor read_end{ends[0]};
    const Descriptor write_end{ends[1]};
    fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    return {spawn(words, write_end.get()), std::move(read_end)};
}

int milliseconds_until(Deadline until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
    return static_cast<int>(std::clamp<long long>(left.count(), 0, INT_MAX));
}

/// All that comes until the end of file; false at `until`.
bool read_all(int fd, std::string& text, Deadline until) {
    for (std::array<char, 8192> part;;) {
        pollfd entry{fd, POLLIN, 0};
        if (poll(&entry, 1, milliseconds_until(until)) == 0 || BootClock::now() >= until)
            return false;
        const ssize_t got = read(fd, part.data(), part.size());
        if (got == 0) return true;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace

Answer call(const std::vector<std::string>& words, Deadline until) {
    if (BootClock::now() >= until) return {};
    const auto client = run(words);
    if (client.pid < 0) return {};
    Answer answer;
    if (!read_all(client.output.get(), answer.output, until)) kill(-client.pid, SIGKILL);
    int status = 0;
    while (waitpid(client.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) answer.status = WEXITSTATUS(status);
    return answer;
}

Descriptor start(const std::vector<std::string>& words) {
    return run(words).output;
}

}  // namespace container
