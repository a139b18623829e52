// Signals without a controlling terminal: cron, CI, a supervisor.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using support::alive;
using support::eventually;
using support::Launch;
using support::Process;
using support::sandbox_lock;
using support::shared_redis;
using support::state_of;
using support::TempDir;

namespace {

/// A test may itself run with signals ignored or blocked; what it starts must not.
void default_signals() {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

Launch launch(std::function<void()> then = {}) {
    Launch with;
    with.before_exec = [then] {
        default_signals();
        if (then) then();
    };
    return with;
}

/// Starts sandbox-lock so that it meets every signal sent from now on, and not the test program's
/// own handlers that a forked child still has: they wait for `default_signals`.
Process prompt_lock(const std::vector<std::string>& arguments, const Launch& with = launch()) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    auto run = sandbox_lock(shared_redis().unix_url(), arguments, with);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return run;
}

std::string name(int signal) {
    return sigabbrev_np(signal);
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
        ++found;
    return found;
}

/// Lets a shell wait in its own `read`, until opened: a shell that has just forked by vfork(2)
/// cannot be stopped while its child is.
class Gate {
public:
    Gate() {
        REQUIRE(mkfifo(path().c_str(), 0600) == 0);
        both_ends_ = guard::Descriptor{::open(path().c_str(), O_RDWR | O_CLOEXEC)};
    }
    [[nodiscard]] std::string path() const { return dir_ / "gate"; }
    void open() const { REQUIRE(write(both_ends_.get(), "\n", 1) == 1); }

private:
    TempDir dir_;
    guard::Descriptor both_ends_;
};

const std::string wait_at_gate = "until read line <\"$1\"; do :; done; ";

/// Traps everything, prints its pid, "got NAME" for each signal, and exits 5 once the gate is open.
const std::string counting_command =
    "for s in HUP INT QUIT TERM USR1 USR2 WINCH CONT; do trap \"echo got $s.\" $s; done; echo "
    "$$; " +
    wait_at_gate + "exit 5";

/// `counting_command` under the lock.
class Counting {
public:
    explicit Counting(const std::string& value)
        : run_(sandbox_lock(
              shared_redis().unix_url(),
              {"agent:" + value, "--", "sh", "-c", counting_command, "sh", gate_.path()},
              launch())) {
        REQUIRE(eventually([&] { return run_.out().find('\n') != std::string::npos; }));
        command_ = support::pids_in(run_.out()).front();
        REQUIRE(support::rests_in_read(command_));
    }

    [[nodiscard]] const Process& keeper() const { return run_; }
    [[nodiscard]] pid_t command() const { return command_; }
    [[nodiscard]] std::size_t got(int signal) const {
        return count(run_.out(), "got " + name(signal) + ".");
    }
    /// Sends `signal` and another one after it; when that has come, all of the first has come too.
    void send(int signal) const {
        run_.signal(signal);
        REQUIRE(eventually([&] { return got(signal) > 0; }));
        REQUIRE(support::rests_in_read(command_));
        const int marker = signal == SIGUSR1 ? SIGUSR2 : SIGUSR1;
        run_.signal(marker);
        REQUIRE(eventually([&] { return got(marker) > 0; }));
        REQUIRE(support::rests_in_read(command_));
    }
    int end() {
        gate_.open();
        return run_.wait();
    }

private:
    Gate gate_;
    Process run_;
    pid_t command_ = 0;
};

/// A slot that somebody else holds, freed with the object.
class TakenSlot {
public:
    explicit TakenSlot(std::string isolation_key) : key_(support::key_of(isolation_key)) {
        shared_redis().command({"SET", key_, "foreign", "NX", "PX", "600000"});
    }
    ~TakenSlot() { free(); }
    TakenSlot(const TakenSlot&) = delete;
    TakenSlot& operator=(const TakenSlot&) = delete;
    void free() const { shared_redis().command({"DEL", key_}); }

private:
    std::string key_;
};

bool waits(const Process& run) {
    return eventually([&] { return run.err().find("waiting") != std::string::npos; });
}

/// Whether nothing of `signals` is left for the process to look at.
bool has_met(pid_t pid, const std::vector<int>& signals) {
    const auto status = support::read_file("/proc/" + std::to_string(pid) + "/status");
    const auto at = status.find("ShdPnd:\t");
    if (at == status.npos) return false;
    const auto pending = std::stoull(status.substr(at + 8), nullptr, 16);
    return std::ranges::none_of(signals,
                                [&](int signal) { return (pending >> (signal - 1) & 1) != 0; });
}

const std::vector<std::string> show_signals{"grep", "-E", "^(Sig(Pnd|Blk|Ign|Cgt)|ShdPnd)",
                                            "/proc/self/status"};

std::vector<std::string> under_lock(const std::string& key,
                                    const std::vector<std::string>& command) {
    std::vector<std::string> arguments{key, "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
}

/// What `command` prints under the lock and without it, both started by `with`.
void same_output(const std::vector<std::string>& command, const Launch& with) {
    auto plain = Process(command, with);
    auto locked = sandbox_lock(shared_redis().unix_url(), under_lock("agent:same", command), with);
    const int plain_status = plain.wait();
    CHECK(locked.wait() == plain_status);
    CHECK(locked.out() == plain.out());
    CHECK_FALSE(plain.out().empty());
}

}  // namespace

TEST_CASE("a signal sent to the keeper reaches the command exactly once") {
    for (const int signal :
         {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
        CAPTURE(name(signal));
        Counting run("once");
        run.send(signal);
        CHECK(run.end() == 5);
        CHECK(run.got(signal) == 1);
        CHECK_FALSE(shared_redis().command({"GET", support::key_of("agent:once")}));
    }
}

TEST_CASE("the shell's trap example of the manual prints got once") {
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:trap", "--", "sh", "-c",
         "trap 'echo got; exit 0' INT; echo ready; while :; do sleep 0.01; done 2>/dev/null"},
        launch());
    REQUIRE(eventually([&] { return run.out() == "ready\n"; }));
    run.signal(SIGINT);
    CHECK(run.wait() == 0);
    CHECK(run.out() == "ready\ngot\n");
}

TEST_CASE("a signal that means something to the command alone does not end its children") {
    // `kill -USR1 PID` asks one server for one thing; its helpers would die of it.
    for (const int signal : {SIGUSR1, SIGUSR2}) {
        CAPTURE(name(signal));
        TempDir dir;
        auto run = sandbox_lock(
            shared_redis().unix_url(),
            {"agent:alone", "--", "sh", "-c",
             "trap 'echo got' USR1 USR2; sleep 1000 & echo $!; "
             "while [ ! -e \"$1\" ]; do sleep 0.01; done 2>/dev/null; kill -KILL $!; exit 5",
             "sh", dir / "end"},
            launch());
        REQUIRE(eventually([&] { return run.out().find('\n') != std::string::npos; }));
        const pid_t child = support::pids_in(run.out()).front();
        run.signal(signal);
        CHECK(eventually([&] { return run.out().find("got") != std::string::npos; }));
        CHECK(alive(child));
        support::write_file(dir / "end", "");
        CHECK(run.wait() == 5);
    }
}

TEST_CASE("TSTP stops the command and the keeper, CONT continues both") {
    Counting run("stop");
    run.keeper().signal(SIGTSTP);
    CHECK(eventually([&] { return state_of(run.command()) == 'T'; }));
    CHECK(eventually([&] { return state_of(run.keeper().pid()) == 'T'; }));
    run.keeper().signal(SIGCONT);
    CHECK(eventually([&] { return state_of(run.command()) != 'T'; }));
    CHECK(eventually([&] { return state_of(run.keeper().pid()) != 'T'; }));
    CHECK(eventually([&] { return run.got(SIGCONT) == 1; }));
    run.send(SIGUSR1);
    CHECK(run.got(SIGCONT) == 1);
    CHECK(run.end() == 5);
}

TEST_CASE("a command that handles TSTP gets it, and is not stopped in spite of that") {
    const Gate gate;
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:tstp", "--", "sh", "-c",
         "trap 'echo got' TSTP; echo ready; " + wait_at_gate + "exit 5", "sh", gate.path()},
        launch());
    REQUIRE(eventually([&] { return run.out() == "ready\n"; }));
    run.signal(SIGTSTP);
    CHECK(eventually([&] { return run.out() == "ready\ngot\n"; }, support::patience / 4));
    run.signal(SIGCONT);
    gate.open();
    CHECK(run.wait() == 5);
}

TEST_CASE(
    "a signal that comes while the slot is taken ends the wait and leaves nothing in the store") {
    const TakenSlot slot("agent:taken");
    // That a client has been seen which does not know the queue is no trace of an entry.
    const auto keys = [] {
        shared_redis().command({"DEL", "{" + support::key_of("agent:taken") + "}:mixed"});
        return shared_redis().keys();
    };
    const auto before = keys();
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
        CAPTURE(name(signal));
        auto run =
            sandbox_lock(shared_redis().unix_url(),
                         {"--retry-interval", "60s", "agent:taken", "--", "echo", "ran"}, launch());
        REQUIRE(waits(run));
        const support::Stopwatch watch;
        run.signal(signal);
        CHECK(run.wait() == 128 + signal);
        CHECK(watch.seconds() < 1);
        CHECK(run.out().empty());
        CHECK(keys() == before);
    }
}

TEST_CASE("WINCH and CONT do not end a wait") {
    const TakenSlot slot("agent:taken");
    auto run =
        sandbox_lock(shared_redis().unix_url(),
                     {"--retry-interval", "20ms", "agent:taken", "--", "echo", "ran"}, launch());
    REQUIRE(waits(run));
    run.signal(SIGWINCH);
    run.signal(SIGCONT);
    CHECK(eventually([&] { return has_met(run.pid(), {SIGWINCH, SIGCONT}); }));
    slot.free();
    CHECK(run.wait() == 0);
    CHECK(run.out() == "ran\n");
}

TEST_CASE("a signal ignored at the start does not end a wait and is still ignored in the command") {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
        CAPTURE(name(signal));
        const auto ignoring = launch([signal] { ::signal(signal, SIG_IGN); });
        const TakenSlot slot("agent:ignored");
        auto run = sandbox_lock(
            shared_redis().unix_url(),
            {"--retry-interval", "20ms", "agent:ignored", "--", "sh", "-c",
             "grep ^SigIgn /proc/self/status; kill -" + std::to_string(signal) + " $$; exit 5"},
            ignoring);
        REQUIRE(waits(run));
        run.signal(signal);
        CHECK(eventually([&] { return has_met(run.pid(), {signal}); }));
        CHECK_FALSE(run.ended());
        slot.free();
        CHECK(run.wait() == 5);
        Process plain({"sh", "-c", "grep ^SigIgn /proc/self/status"}, ignoring);
        CHECK(plain.wait() == 0);
        CHECK(run.out() == plain.out());
    }
}

TEST_CASE("masks and dispositions in the command are what they are without the lock") {
    SUBCASE("none") {
        same_output(show_signals, launch());
    }
    SUBCASE("HUP and PIPE ignored") {
        same_output(show_signals, launch([] {
                        ::signal(SIGHUP, SIG_IGN);
                        ::signal(SIGPIPE, SIG_IGN);
                    }));
    }
    SUBCASE("everything ignored") {
        same_output(show_signals, launch([] {
                        for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
                        // Where the program is built with sanitizers, they handle these.
                        for (const int number : {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV})
                            ::signal(number, SIG_DFL);
                    }));
    }
    SUBCASE("TERM, USR1 and CHLD blocked") {
        same_output(show_signals, launch([] {
                        sigset_t set;
                        sigemptyset(&set);
                        for (const int number : {SIGTERM, SIGUSR1, SIGCHLD})
                            sigaddset(&set, number);
                        sigprocmask(SIG_SETMASK, &set, nullptr);
                    }));
    }
    SUBCASE("everything blocked") {
        same_output(show_signals, launch([] {
                        sigset_t set;
                        sigfillset(&set);
                        sigprocmask(SIG_SETMASK, &set, nullptr);
                    }));
    }
    SUBCASE("CHLD ignored") {
        same_output(show_signals, launch([] { ::signal(SIGCHLD, SIG_IGN); }));
    }
}

TEST_CASE("with CHLD ignored at the start the status still comes through") {
    const auto ignoring = launch([] { ::signal(SIGCHLD, SIG_IGN); });
    for (const int status : {0, 7, 255}) {
        auto run = sandbox_lock(shared_redis().unix_url(),
                                {"agent:chld", "--", "sh", "-c", "exit " + std::to_string(status)},
                                ignoring);
        CHECK(run.wait() == status);
        CHECK(run.err().empty());
    }
}

TEST_CASE("a signal blocked at the start does not end a wait") {
    const TakenSlot slot("agent:blocked");
    auto run =
        sandbox_lock(shared_redis().unix_url(),
                     {"--retry-interval", "20ms", "agent:blocked", "--", "echo", "ran"}, launch([] {
                         sigset_t set;
                         sigemptyset(&set);
                         sigaddset(&set, SIGTERM);
                         sigprocmask(SIG_SETMASK, &set, nullptr);
                     }));
    REQUIRE(waits(run));
    run.signal(SIGTERM);
    CHECK(eventually([&] { return has_met(run.pid(), {SIGTERM}); }));
    slot.free();
    CHECK(run.wait() == 0);
    CHECK(run.out() == "ran\n");
}

TEST_CASE("a command that writes to a closed pipe dies of PIPE") {
    auto head = sandbox_lock(shared_redis().unix_url(),
                             {"agent:pipe", "--", "sh", "-c", "yes | head -1"}, launch());
    CHECK(head.wait() == 0);
    CHECK(head.out() == "y\n");
    CHECK(head.err().empty());

    const auto to_nobody = launch([] {
        int ends[2];
        if (pipe(ends) != 0) _exit(99);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
    });
    auto yes = sandbox_lock(shared_redis().unix_url(), {"agent:pipe", "--", "yes"}, to_nobody);
    CHECK(yes.wait() == 128 + SIGPIPE);
    CHECK(yes.err().empty());
}

TEST_CASE("a daemon left behind survives although a signal came that the command ignores") {
    TempDir dir;
    auto run = sandbox_lock(
        shared_redis().unix_url(),
        {"agent:nohup", "--", "sh", "-c",
         "cd \"$1\"; (setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >daemon); echo ready; "
         "while [ ! -e end ]; do sleep 0.01; done; exit 5",
         "sh", dir / ""},
        launch([] { ::signal(SIGHUP, SIG_IGN); }));
    REQUIRE(eventually([&] { return run.out() == "ready\n"; }));
    const pid_t daemon = support::pids_in(support::read_file(dir / "daemon")).front();
    run.signal(SIGHUP);
    CHECK(eventually([&] { return has_met(run.pid(), {SIGHUP}); }));
    support::write_file(dir / "end", "");
    CHECK(run.wait() == 5);
    CHECK(alive(daemon));
    kill(daemon, SIGKILL);
}

TEST_CASE(
    "signals that come faster than they can be passed on do not displace the one that ends the "
    "run") {
    Counting run("flood");
    const auto wardens = support::children_of(run.keeper().pid());
    REQUIRE(wardens.size() == 1);
    kill(wardens.front(), SIGSTOP);  // as a busy machine would, only surely
    REQUIRE(eventually([&] { return state_of(wardens.front()) == 'T'; }));
    for (int i = 0; i < 2000; ++i) {
        run.keeper().signal(SIGWINCH);
        REQUIRE(eventually([&] { return has_met(run.keeper().pid(), {SIGWINCH}); }));
    }
    run.keeper().signal(SIGTERM);
    REQUIRE(eventually([&] { return has_met(run.keeper().pid(), {SIGTERM}); }));
    kill(wardens.front(), SIGCONT);
    // A nudge each time: dash may have gone to its read between the TERM and the trap.
    CHECK(eventually([&] {
        kill(run.command(), SIGWINCH);
        return run.got(SIGTERM) == 1;
    }));
    CHECK(run.end() == 5);
}

TEST_CASE(
    "a storm of signals from start to end never hangs it, changes the status or leaves the key") {
    constexpr std::array storm{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                               SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP};
    std::mt19937 random{20240611};
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        auto run = prompt_lock({"-v", "agent:storm", "--", "sh", "-c",
                                "trap '' HUP INT QUIT TERM USR1 USR2; echo ran; "
                                "for i in 1 2 3 4 5; do sleep 0.01; done; exit 7"});
        for (int i = 0; i < 25 && !run.ended(); ++i) {
            run.signal(storm[random() % storm.size()]);
            std::this_thread::sleep_for(std::chrono::microseconds{random() % 6000});
        }
        REQUIRE(eventually([&] {
            run.signal(SIGCONT);
            return run.ended();
        }));
        const int status = run.wait();
        if (run.out() == "ran\n")
            CHECK(status == 7);
        else
            CHECK(std::ranges::any_of(storm, [&](int signal) { return status == 128 + signal; }));
        CAPTURE(status);
        CAPTURE(run.out());
        CAPTURE(run.err());
        REQUIRE(shared_redis().command({"GET", support::key_of("agent:storm")}).value_or("") == "");
    }
}

TEST_CASE("around the moment of entering the command has met the signal, or has never run") {
    for (const int signal : {SIGINT, SIGTERM}) {
        CAPTURE(name(signal));
        for (int round = 0; round < 120; ++round) {
            CAPTURE(round);
            const std::string mark = "TEST_ROUND=" + name(signal) + std::to_string(round);
            auto with = launch();
            with.environment.push_back(mark);
            auto run = prompt_lock({"agent:moment", "--", "sh", "-c",
                                    "trap 'echo got; exit 9' INT TERM; echo ran; while :; do sleep "
                                    "0.01; done 2>/dev/null"},
                                   with);
            std::this_thread::sleep_for(std::chrono::microseconds{round * 100});
            run.signal(signal);
            const int status = run.wait();
            const auto out = run.out();
            if (out.empty()) {  // not started, or met before it had set its trap
                CHECK(status == 128 + signal);
            } else {
                const bool met = out == "ran\ngot\n" || out == "got\n";
                CHECK_MESSAGE(met, out);
                CHECK(status == 9);
                CHECK(run.err().empty());
            }
            CHECK(eventually([&] { return support::processes_with(mark).empty(); }));
            CHECK_FALSE(shared_redis().command({"GET", support::key_of("agent:moment")}));
        }
    }
}
