// What the command inherits, and what it leaves behind.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/pty.hpp"
#include "support/redis_server.hpp"

using support::alive;
using support::eventually;
using support::Launch;
using support::Process;
using support::read_file;
using support::sandbox_lock;
using support::shared_redis;
using support::TempDir;

namespace {

struct Pipe {
    guard::Descriptor read;
    guard::Descriptor write;
    Pipe() {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        read = guard::Descriptor{ends[0]};
        write = guard::Descriptor{ends[1]};
    }
};

std::vector<std::string> under_lock(const std::vector<std::string>& command) {
    std::vector<std::string> arguments{"agent:inherit", "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
}

Process plain(const std::vector<std::string>& command, Launch with) {
    auto environment = support::clean_environment(shared_redis().unix_url());
    environment.insert(environment.end(), with.environment.begin(), with.environment.end());
    with.environment = std::move(environment);
    return Process(command, with);
}

/// `command` does and prints the same under the lock and without it.
void same(const std::vector<std::string>& command, const Launch& with = {}) {
    auto direct = plain(command, with);
    const int status = direct.wait();
    auto locked = sandbox_lock(shared_redis().unix_url(), under_lock(command), with);
    CHECK(locked.wait() == status);
    CHECK(locked.out() == direct.out());
    CHECK(locked.err() == direct.err());
    CHECK_FALSE(direct.out().empty());
}

bool held(const std::string& isolation_key) {
    return shared_redis().command({"GET", support::key_of(isolation_key)}).has_value();
}

/// The numbers of /proc/PID/stat after the state: parent, group, session, terminal, foreground
/// group.
std::vector<long> numbers_of(const std::string& stat) {
    std::istringstream words{stat.substr(stat.rfind(')') + 4)};
    std::vector<long> numbers;
    for (long number = 0; words >> number;) numbers.push_back(number);
    return numbers;
}

/// Kills what a test let run on its own.
struct Stray {
    pid_t pid;
    ~Stray() {
        if (pid > 0) kill(pid, SIGKILL);
    }
};

}  // namespace

TEST_CASE("standard streams pass through") {
    Launch with;
    with.input = "one\ntwo\n";
    same({"sh", "-c", "cat; echo to-stderr >&2; exit 6"}, with);
}

TEST_CASE("no descriptor of ours is in the command, and none of others is missing") {
    same({"ls", "/proc/self/fd"});
    Launch with;
    with.before_exec = [] {
        dup2(0, 3);
        dup2(0, 7);
        dup2(0, 200);
    };
    same({"ls", "/proc/self/fd"}, with);
}

TEST_CASE("standard streams that are closed stay closed, and our messages go nowhere else") {
    for (int closed = 1; closed < 8; ++closed) {
        CAPTURE(closed);
        TempDir dir;
        Launch with;
        with.before_exec = [closed] {
            for (int fd = 0; fd < 3; ++fd)
                if ((closed >> fd & 1) != 0) close(fd);
        };
        const std::vector<std::string> command{"sh", "-c",
                                               "ls /proc/self/fd >\"$0\" 2>/dev/null; exit 4"};
        auto direct_command = command;
        direct_command.push_back(dir / "direct");
        auto direct = plain(direct_command, with);
        CHECK(direct.wait() == 4);

        std::vector<std::string> arguments{"-v", "agent:closed", "--"};
        arguments.insert(arguments.end(), command.begin(), command.end());
        arguments.push_back(dir / "locked");
        auto locked = sandbox_lock(shared_redis().unix_url(), arguments, with);
        CHECK(eventually([&] { return locked.ended(); }, support::patience / 4));
        if (!locked.ended()) continue;
        CHECK(locked.wait() == 4);
        CHECK(read_file(dir / "locked") == read_file(dir / "direct"));
        CHECK_FALSE(held("agent:closed"));
    }
}

TEST_CASE("a pipe on descriptor 3 reaches the command, in both directions") {
    Pipe to;
    Pipe from;
    Launch with;
    with.before_exec = [&] {
        dup2(to.read.get(), 3);
        dup2(from.write.get(), 4);
    };
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:pipe", "--", "sh", "-c", "read word <&3; echo \"heard $word\" >&4"}, with);
    REQUIRE(write(to.write.get(), "hello\n", 6) == 6);
    CHECK(run.wait() == 0);
    std::array<char, 64> buffer{};
    const ssize_t got = read(from.read.get(), buffer.data(), buffer.size());
    CHECK(std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))) ==
          "heard hello\n");
}

TEST_CASE("a pipe ends when the command closes it, not when the command ends") {
    TempDir dir;
    Pipe in;
    Pipe out;
    Pipe extra;
    Launch with;
    with.before_exec = [&] {
        dup2(in.read.get(), 0);
        dup2(out.write.get(), 1);
        dup2(extra.write.get(), 3);
    };
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:eof", "--", "sh", "-c",
         "exec <&- >&- 3>&-; while [ ! -e \"$0\" ]; do sleep 0.01; done; exit 4", dir / "end"},
        with);
    in.read.reset();
    out.write.reset();
    extra.write.reset();
    const auto hung_up = [](int fd) {
        pollfd entry{fd, 0, 0};
        return poll(&entry, 1, 0) == 1 && (entry.revents & (POLLHUP | POLLERR)) != 0;
    };
    CHECK(eventually([&] { return hung_up(in.write.get()); }));
    CHECK(eventually([&] { return hung_up(out.read.get()); }));
    CHECK(eventually([&] { return hung_up(extra.read.get()); }));
    CHECK_FALSE(run.ended());
    support::write_file(dir / "end", "");
    CHECK(run.wait() == 4);
}

TEST_CASE("arguments reach the command byte for byte") {
    const std::string print = "for word; do printf '%s<' \"$word\"; done";
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"", "a", ""},
             {"two\nlines", "tab\there", " blank ", "'\"\\$HOME`"},
             {"Grüße", "\xff\xfe", "日本"},
             {std::string(100 * 1024, 'x'), "after"},
             {"-n", "--wait", "--help", "-c", "--lease-ttl", "-E", "-v", "--version"},
             {"--", "a", "--", "--", "b"},
         }) {
        std::vector<std::string> command{"sh", "-c", print, "sh"};
        command.insert(command.end(), words.begin(), words.end());
        same(command);

        auto direct = plain(command, {});
        CHECK(direct.wait() == 0);
        std::vector<std::string> without_dashes{"agent:inherit"};
        without_dashes.insert(without_dashes.end(), command.begin(), command.end());
        auto locked = sandbox_lock(shared_redis().unix_url(), without_dashes);
        CHECK(locked.wait() == 0);
        CHECK(locked.out() == direct.out());
    }
}

TEST_CASE("the environment is the same but for the five variables of the lease") {
    Launch with;
    with.environment = {"EMPTY=", "LINES=one\ntwo", "UTF8=Grüße",
                        "LONG=" + std::string(50000, 'x')};
    with.before_exec = [] { clearenv(), putenv(const_cast<char*>("PATH=/usr/bin:/bin")); };
    SUBCASE("a full one") {
        with.before_exec = {};
    }
    SUBCASE("nearly none") {
        with.environment.clear();
    }
    const auto store = "--store=" + shared_redis().unix_url();
    Process direct({"env", "-0"}, with);
    Process locked({support::program_path(), store, "agent:a:b c", "--", "env", "-0"}, with);
    CHECK(direct.wait() == 0);
    CHECK(locked.wait() == 0);

    std::string rest;
    std::vector<std::string> ours;
    std::istringstream variables{locked.out()};
    for (std::string variable; std::getline(variables, variable, '\0');) {
        const auto name = variable.substr(0, variable.find('='));
        if (name == "SANDBOX_LOCK_KEY" || name == "SANDBOX_LOCK_SCOPE" ||
            name == "SANDBOX_LOCK_VALUE" || name == "SANDBOX_LOCK_TOKEN" ||
            name == "SANDBOX_LOCK_FENCE")
            ours.push_back(variable);
        else
            rest += variable + '\0';
    }
    CHECK(rest == direct.out());
    CHECK(ours.size() == 5);
    CHECK(std::ranges::count(ours, "SANDBOX_LOCK_KEY=" + support::key_of("agent:a:b c")) == 1);
    CHECK(std::ranges::count(ours, "SANDBOX_LOCK_SCOPE=agent") == 1);
    CHECK(std::ranges::count(ours, "SANDBOX_LOCK_VALUE=a:b c") == 1);
}

TEST_CASE("umask, directory, niceness, limits and rights are as they were") {
    TempDir dir;
    Launch with;
    with.before_exec = [&] {
        umask(027);
        errno = 0;  // nice(2) may well return -1
        if (chdir((dir / "").c_str()) != 0 || (nice(5) == -1 && errno != 0)) _exit(99);
        const rlimit files{64, 128};
        const rlimit core{0, 0};
        setrlimit(RLIMIT_NOFILE, &files);
        setrlimit(RLIMIT_CORE, &core);
    };
    same({"sh", "-c",
          "umask; pwd; nice; cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup; "
          "grep -E '^(Cap|NoNewPrivs|Seccomp|Groups|Uid|Gid|Cpus_allowed|CoreDumping|Umask)' "
          "/proc/self/status"},
         with);
}

TEST_CASE(
    "without a terminal the command has a process group of its own, in the keeper's session") {
    auto run =
        sandbox_lock(shared_redis().unix_url(), {"agent:group", "--", "cat", "/proc/self/stat"});
    CHECK(run.wait() == 0);
    const auto numbers = numbers_of(run.out());
    const auto command = support::pids_in(run.out()).front();
    REQUIRE(numbers.size() > 2);
    // Not led by the command, or setsid(1) would fork.
    CHECK(numbers[1] != command);
    CHECK(numbers[1] != run.pid());
    CHECK(numbers[2] == run.pid());
}

TEST_CASE("with a terminal the command is in the keeper's process group") {
    TempDir dir;
    support::Pty pty;
    Launch with;
    with.terminal = pty.slave();
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:group", "--", "sh", "-c", "cat /proc/self/stat >\"$0\"", dir / "stat"}, with);
    CHECK(run.wait() == 0);
    const auto numbers = numbers_of(read_file(dir / "stat"));
    REQUIRE(numbers.size() > 4);
    CHECK(numbers[1] == run.pid());
    CHECK(numbers[2] == run.pid());
    CHECK(numbers[4] == run.pid());
}

TEST_CASE("a command that starts a session of its own holds the slot like any other") {
    // setsid(1) forks, and returns at once, only where it is a process group's leader.
    const std::string call = "\"$@\"; echo $?";
    Process direct({"sh", "-c", call, "sh", "setsid", "sh", "-c", "exit 5"});
    CHECK(direct.wait() == 0);
    CHECK(direct.out() == "5\n");
    Launch with;
    with.environment = support::clean_environment(shared_redis().unix_url());
    Process locked({"sh", "-c", call, "sh", support::program_path(), "agent:setsid", "--", "setsid",
                    "sh", "-c", "exit 5"},
                   with);
    CHECK(locked.wait() == 0);
    CHECK(locked.out() == direct.out());
}

TEST_CASE("a daemon that the command leaves behind survives, and nobody waits for it") {
    TempDir dir;
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:daemon", "--", "sh", "-c",
         "(setsid sh -c 'echo $$ >\"$0\"; exec sleep 1000' \"$0\" </dev/null >/dev/null 2>&1 &);"
         "while [ ! -s \"$0\" ]; do sleep 0.01; done; exit 3",
         dir / "pid"});
    CHECK(run.wait() == 3);
    const Stray daemon{support::pids_in(read_file(dir / "pid")).front()};
    CHECK(alive(daemon.pid));
    CHECK_FALSE(held("agent:daemon"));
    auto next = sandbox_lock(shared_redis().unix_url(), {"-n", "agent:daemon", "--", "true"});
    CHECK(next.wait() == 0);
    CHECK(alive(daemon.pid));
    CHECK(run.err().empty());
}

TEST_CASE("with --wait-descendants the slot is held until the daemon is gone") {
    TempDir dir;
    auto run = sandbox_lock(shared_redis().unix_url(),
                            {"--wait-descendants", "agent:daemon", "--", "sh", "-c",
                             "(setsid sh -c 'echo $$ >\"$0/daemon\"; while [ ! -e \"$0/end\" ]; do "
                             "sleep 0.01; done' \"$0\" "
                             "</dev/null >/dev/null 2>&1 &);"
                             "while [ ! -s \"$0/daemon\" ]; do sleep 0.01; done; echo $$; exit 3",
                             dir / ""});
    REQUIRE(eventually([&] { return run.out().find('\n') != std::string::npos; }));
    const Stray daemon{support::pids_in(read_file(dir / "daemon")).front()};
    const pid_t command = support::pids_in(run.out()).front();
    CHECK(eventually([&] { return !alive(command); }));
    auto other = sandbox_lock(shared_redis().unix_url(), {"-n", "agent:daemon", "--", "true"});
    CHECK(other.wait() == 75);
    CHECK_FALSE(run.ended());
    support::write_file(dir / "end", "");
    CHECK(run.wait() == 3);
    CHECK_FALSE(held("agent:daemon"));
}

TEST_CASE("a standard error that nobody reads does not keep the command alive past its lease") {
    // So is a terminal after Ctrl-S: whoever writes a message first and acts then may never act.
    Pipe full;
    fcntl(full.write.get(), F_SETFL, O_NONBLOCK);
    for (const std::size_t size : {4096U, 1U}) {
        const std::string text(size, 'x');
        while (write(full.write.get(), text.data(), text.size()) > 0) {
        }
    }
    fcntl(full.write.get(), F_SETFL, 0);
    Launch with;
    with.before_exec = [&] { dup2(full.write.get(), 2); };
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"--lease-ttl=3s", "agent:full", "--", "sh", "-c", "echo $$; exec sleep 1000"}, with);
    REQUIRE(eventually([&] { return run.out().find('\n') != std::string::npos; }));
    const Stray command{support::pids_in(run.out()).front()};
    const auto wardens = support::children_of(run.pid());
    REQUIRE(wardens.size() == 1);
    SUBCASE("when the keeper is killed") {
        run.signal(SIGKILL);
        CHECK(run.wait() == 128 + SIGKILL);
    }
    SUBCASE("when the warden is killed") {
        kill(wardens.front(), SIGKILL);
    }
    SUBCASE("when the slot is taken away") {
        shared_redis().command({"SET", support::key_of("agent:full"), "foreign", "PX", "60000"});
    }
    CHECK(eventually([&] { return !alive(command.pid); }, support::patience / 4));
    full.read.reset();
    shared_redis().command({"DEL", support::key_of("agent:full")});
}
