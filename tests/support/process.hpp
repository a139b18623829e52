#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guard/descriptor.hpp"
#include "support/eventually.hpp"

namespace support {

/// What a process is started with beside its arguments.
struct Launch {
    std::vector<std::string> environment;  ///< NAME=VALUE sets, NAME alone unsets
    std::string input;                     ///< on standard input
    int terminal = -1;  ///< a pty's slave: standard streams and controlling terminal
    std::function<void()> before_exec;  ///< in the child, last
};

/// A child process in a session of its own, without a controlling terminal unless one is given. It
/// is killed with the object, and also when the test program itself dies. In nothing that it writes
/// a password may show, nor in the arguments of it and its descendants while it runs (secret.hpp);
/// in its own only once it has written something, if it was started with one.
class Process {
public:
    explicit Process(const std::vector<std::string>& argv, const Launch& launch = {});
    ~Process();
    Process(Process&&) noexcept;
    Process& operator=(Process&&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;

    /// The exit status as a shell has it (128+N for a signal); throws when `limit` is over.
    int wait(std::chrono::steady_clock::duration limit = patience);
    [[nodiscard]] bool ended();
    /// The status as waitpid(2) gave it, once ended.
    [[nodiscard]] int raw_status() const noexcept { return status_.value_or(-1); }

    /// What it has written so far.
    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;

private:
    void watch() const;

    pid_t pid_ = 0;
    bool starts_with_secret_ = false;  ///< in the arguments
    bool keeps_secret_ = false;        ///< and the program cannot wipe it there
    guard::Descriptor out_;
    guard::Descriptor err_;
    std::optional<int> status_;
};

/// Whether a process with this pid exists and is no zombie.
[[nodiscard]] bool alive(pid_t pid);

/// The pids, one a line or between blanks, in `text`.
[[nodiscard]] std::vector<pid_t> pids_in(const std::string& text);

/// Live processes whose environment has `variable` (NAME=VALUE): finds what a test left behind.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& variable);

/// The direct children of a process: of the keeper, the warden.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

/// The state letter of /proc/PID/stat, such as 'T' for stopped; 0 where there is no such process.
[[nodiscard]] char state_of(pid_t pid);

/// Whether the process comes to rest in read(2). A shell runs no trap for a signal that comes just
/// before its read blocks, so a test that sends one waits for this first.
[[nodiscard]] bool rests_in_read(pid_t pid);

}  // namespace support
