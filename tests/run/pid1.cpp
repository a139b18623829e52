// As the first process of a container.
#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>

#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using support::alive;
using support::children_of;
using support::eventually;
using support::Launch;
using support::Process;
using support::read_file;
using support::shared_redis;
using support::state_of;
using support::TempDir;
using support::write_file;

namespace {

bool can_unshare() {
    if (geteuid() == 0) {
        Process look({"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "true"});
        if (look.wait() == 0) return true;
    }
    MESSAGE("no right to make a PID namespace here");
    return false;
}

/// sandbox-lock as PID 1 of a new PID namespace.
class Container {
public:
    explicit Container(std::vector<std::string> arguments, std::vector<std::string> mark = {},
                       bool own_proc = true)
        : unshare_(argv(std::move(arguments), own_proc), launch(std::move(mark))) {}

    Process& unshare() { return unshare_; }
    /// The keeper, by the pid that it has here.
    pid_t keeper() const {
        REQUIRE(eventually([&] { return children_of(unshare_.pid()).size() == 1; }));
        return children_of(unshare_.pid()).front();
    }
    /// Leaves an orphan to PID 1 that ends at once, as `docker exec` may.
    void orphan() const {
        Process enter({"nsenter", "--pid", "--mount", "--target", std::to_string(keeper()), "sh",
                       "-c", "(sleep 0.01 &) ; exit 0"});
        CHECK(enter.wait() == 0);
    }

private:
    static std::vector<std::string> argv(std::vector<std::string> arguments, bool own_proc) {
        std::vector<std::string> words{"unshare", "--pid", "--fork", "--kill-child"};
        if (own_proc) words.emplace_back("--mount-proc");
        words.push_back(support::program_path());
        words.insert(words.end(), arguments.begin(), arguments.end());
        return words;
    }
    static Launch launch(std::vector<std::string> mark) {
        Launch with;
        with.environment = support::clean_environment(shared_redis().unix_url());
        with.environment.insert(with.environment.end(), mark.begin(), mark.end());
        return with;
    }

    Process unshare_;
};

}  // namespace

TEST_CASE("as PID 1 it gives the command's exit status") {
    if (!can_unshare()) return;
    for (const int status : {0, 7, 255}) {
        Container run({"agent:pid1", "--", "sh", "-c", "exit " + std::to_string(status)});
        CHECK(run.unshare().wait() == status);
        CHECK(run.unshare().err().empty());
    }
    Container killed({"agent:pid1", "--", "sh", "-c", "kill -KILL $$"});
    CHECK(killed.unshare().wait() == 128 + SIGKILL);
}

TEST_CASE("as PID 1 it passes signals on") {
    if (!can_unshare()) return;
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1}) {
        CAPTURE(signal);
        const std::string name = sigabbrev_np(signal);
        Container run({"agent:pid1", "--", "sh", "-c",
                       "trap 'echo got; exit 6' " + name +
                           "; echo ready; while :; do sleep 0.01; done 2>/dev/null"});
        REQUIRE(eventually([&] { return run.unshare().out() == "ready\n"; }));
        kill(run.keeper(), signal);
        CHECK(run.unshare().wait() == 6);
        CHECK(run.unshare().out() == "ready\ngot\n");
        CHECK_FALSE(shared_redis().command({"GET", support::key_of("agent:pid1")}));
    }
}

TEST_CASE("as PID 1 a signal ends its wait") {
    if (!can_unshare()) return;
    shared_redis().command({"SET", support::key_of("agent:busy"), "foreign", "PX", "600000"});
    Container run({"--retry-interval=60s", "agent:busy", "--", "echo", "ran"});
    REQUIRE(eventually([&] { return run.unshare().err().find("waiting") != std::string::npos; }));
    kill(run.keeper(), SIGTERM);
    CHECK(run.unshare().wait() == 128 + SIGTERM);
    CHECK(run.unshare().out().empty());
    shared_redis().command({"DEL", support::key_of("agent:busy")});
}

TEST_CASE("as PID 1 it reaps the orphans that it is given") {
    if (!can_unshare()) return;
    Process look({"sh", "-c", "command -v nsenter"});
    if (look.wait() != 0) {
        MESSAGE("no nsenter here");
        return;
    }
    TempDir dir;
    const auto only_the_warden_is_left = [](const Container& run) {
        return eventually([&] { return children_of(run.keeper()).size() == 1; });
    };
    SUBCASE("while the command runs") {
        Container run({"agent:orphans", "--", "sh", "-c",
                       "echo ready; while [ ! -e \"$0\" ]; do sleep 0.01; done; exit 5",
                       dir / "end"});
        REQUIRE(eventually([&] { return run.unshare().out() == "ready\n"; }));
        for (int i = 0; i < 10; ++i) run.orphan();
        CHECK(only_the_warden_is_left(run));
        write_file(dir / "end", "");
        CHECK(run.unshare().wait() == 5);
    }
    SUBCASE("while it waits for the slot") {
        shared_redis().command(
            {"SET", support::key_of("agent:orphans"), "foreign", "PX", "600000"});
        Container run({"--retry-interval=20ms", "agent:orphans", "--", "sh", "-c", "exit 5"});
        REQUIRE(
            eventually([&] { return run.unshare().err().find("waiting") != std::string::npos; }));
        for (int i = 0; i < 10; ++i) run.orphan();
        CHECK(only_the_warden_is_left(run));
        shared_redis().command({"DEL", support::key_of("agent:orphans")});
        CHECK(run.unshare().wait() == 5);
    }
}

TEST_CASE("orphans of the command do not pile up as zombies") {
    if (!can_unshare()) return;
    TempDir dir;
    Container run({"agent:zombies", "--", "sh", "-c",
                   "i=0; while [ $i -lt 50 ]; do (sleep 0.01 &); i=$((i+1)); done; echo ready; "
                   "while [ ! -e \"$0\" ]; do sleep 0.01; done; exit 5",
                   dir / "end"});
    REQUIRE(eventually([&] { return run.unshare().out() == "ready\n"; }));
    const auto wardens = children_of(run.keeper());
    REQUIRE(wardens.size() == 1);
    CHECK(eventually([&] { return children_of(wardens.front()).size() == 1; }));
    write_file(dir / "end", "");
    CHECK(run.unshare().wait() == 5);
}

TEST_CASE("the tree is ended at the loss of the lease, whatever /proc is mounted") {
    if (!can_unshare()) return;
    const std::string tree =
        "trap '' TERM; sleep 1000 & setsid sleep 1000 & (setsid sh -c \"trap '' TERM; "
        "while :; do sleep 1; done\" &); echo ready; while :; do sleep 1; done";
    for (const bool own_proc : {true, false}) {
        CAPTURE(own_proc);
        const std::string mark =
            "TEST_PID1=" + std::to_string(getpid()) + (own_proc ? "own" : "foreign");
        Container run({"--lease-ttl=3s", "agent:gone", "--", "sh", "-c", tree}, {mark}, own_proc);
        REQUIRE(eventually([&] { return run.unshare().out() == "ready\n"; }));
        shared_redis().command({"SET", support::key_of("agent:gone"), "foreign", "PX", "60000"});
        CHECK(run.unshare().wait() == 79);
        shared_redis().command({"DEL", support::key_of("agent:gone")});
        CHECK(eventually([&] { return support::processes_with(mark).empty(); }));
    }
}

TEST_CASE("below another /proc the tree is ended, and nobody else is signalled") {
    if (!can_unshare()) return;
    TempDir dir;
    const std::string mark = "TEST_PID1=" + std::to_string(getpid()) + "nested";
    Launch with;
    with.environment = support::clean_environment(shared_redis().unix_url());
    with.environment.push_back(mark);
    // Its neighbours in the namespace have the small pids that its own tree has elsewhere.
    Process unshare(
        {"unshare", "--pid", "--fork", "--kill-child", "sh", "-c",
         "cd \"$1\"; for i in 1 2 3 4 5 6; do sleep 1000 & echo $! >>neighbours; done; "
         "\"$0\" --lease-ttl=3s agent:nested -- sh -c \"trap '' TERM; setsid sh -c 'trap \\\"\\\" "
         "TERM; "
         "while :; do sleep 1; done' & echo >ready; while :; do sleep 1; done\"; echo $? >status; "
         "for p in $(cat neighbours); do kill -0 $p && echo $p >>left; done; kill $(cat "
         "neighbours); "
         "ls -d /proc/self >/dev/null; exit 5",
         support::program_path(), dir / ""},
        with);
    REQUIRE(eventually([&] { return !read_file(dir / "ready").empty(); }));
    shared_redis().command({"SET", support::key_of("agent:nested"), "foreign", "PX", "60000"});
    CHECK(unshare.wait() == 5);
    shared_redis().command({"DEL", support::key_of("agent:nested")});
    CHECK(read_file(dir / "status") == "79\n");
    CHECK(read_file(dir / "left") == read_file(dir / "neighbours"));
    CHECK(eventually([&] { return support::processes_with(mark).empty(); }));
}

TEST_CASE("without /proc nothing is run, as its descendants could not be found") {
    if (!can_unshare()) return;
    const TempDir dir;
    const Launch without_proc{.before_exec = [] {
        unshare(CLONE_NEWNS);
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
        if (mount("none", "/proc", "tmpfs", 0, nullptr) != 0) _exit(99);
    }};
    const auto url = "file:" + (dir / "locks");
    auto run = support::sandbox_lock(url, {"agent:x", "--", "echo", "ran"}, without_proc);
    CHECK(run.wait() == 71);
    CHECK(run.out().empty());
    CHECK(run.err().find("mount it") != std::string::npos);
    auto doctor = support::sandbox_lock(url, {"doctor"}, without_proc);
    CHECK(doctor.wait() == 1);
    CHECK(doctor.out().find("WARN status: does not show who holds it") != std::string::npos);
}
