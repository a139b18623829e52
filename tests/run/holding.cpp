// What happens to the command tree and to the slot when a part of the machinery dies or stops.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

/// A command with a background child, two in sessions of their own, one of them an orphan, and a
/// foreground one, which tells that all are there: a shell that is just starting a child loses an
/// INT.
const std::string tree_script =
    "sleep 1000 & setsid sleep 1000 & sh -c 'setsid sleep 1000 & exit'; sh -c 'echo ready; exec "
    "sleep 1000'";

/// A run of sandbox-lock whose processes can be told from all others by a variable.
struct Tree {
    Tree(RedisServer& redis, std::vector<std::string> options, const std::string& slot,
         const std::string& script = tree_script)
        : mark("TREE_MARK=" + std::to_string(getpid()) + "-" + slot),
          keeper(start(redis, std::move(options), slot, script)) {
        REQUIRE(eventually([&] { return keeper.out().find("ready") != std::string::npos; }));
        const auto below = children_of(keeper.pid());
        REQUIRE(below.size() == 1);
        warden = below.front();
    }

    /// Processes of the command, without keeper and warden.
    [[nodiscard]] std::vector<pid_t> command() const {
        auto pids = processes_with(mark);
        std::erase_if(pids, [&](pid_t pid) { return pid == keeper.pid() || pid == warden; });
        return pids;
    }
    [[nodiscard]] bool gone(std::chrono::steady_clock::duration limit = patience) const {
        return eventually([&] { return command().empty(); }, limit);
    }

    std::string mark;
    Process keeper;
    pid_t warden = 0;

private:
    Process start(RedisServer& redis, std::vector<std::string> options, const std::string& slot,
                  const std::string& script) const {
        options.insert(options.end(), {"agent:" + slot, "--", "sh", "-c", script});
        return sandbox_lock(redis.unix_url(), options, {.environment = {mark}});
    }
};

}  // namespace

TEST_CASE(
    "the keeper killed by KILL: the whole tree is gone within a second, and the slot lapses") {
    auto& redis = shared_redis();
    Tree tree(redis, {}, "keeper-killed");
    REQUIRE(tree.command().size() >= 4);
    tree.keeper.signal(SIGKILL);
    CHECK(tree.gone(1s));
    CHECK(redis.command({"GET", key_of("agent:keeper-killed")}).has_value());
    CHECK(eventually([&] { return !alive(tree.warden); }));
    CHECK(tree.keeper.err().find("keeper") != std::string::npos);
}

TEST_CASE("that the keeper was killed is told in the format that was asked for") {
    Tree tree(shared_redis(), {"--log-format", "json"}, "keeper-killed-json");
    tree.keeper.signal(SIGKILL);
    CHECK(tree.gone());
    CHECK(tree.keeper.err().starts_with("{\"time\":"));
    CHECK(tree.keeper.err().find("\"event\":\"keeper-killed\"") != std::string::npos);
    CHECK(tree.keeper.err().ends_with("}\n"));
}

TEST_CASE("the warden killed by KILL: the whole tree is gone within a second, status 70") {
    auto& redis = shared_redis();
    Tree tree(redis, {}, "warden-killed");
    kill(tree.warden, SIGKILL);
    CHECK(tree.gone(1s));
    CHECK(tree.keeper.wait() == 70);
    CHECK_FALSE(redis.command({"GET", key_of("agent:warden-killed")}));
    CHECK(tree.keeper.err().find("warden") != std::string::npos);
}

TEST_CASE("the warden killed while the slot is awaited: nothing is run, and the slot is free") {
    auto& redis = shared_redis();
    const auto key = key_of("agent:awaited");
    redis.command({"SET", key, "foreign"});
    auto waiter = sandbox_lock(redis.unix_url(), {"agent:awaited", "--", "echo", "ran"});
    REQUIRE(eventually([&] { return waiter.err().find("waiting") != std::string::npos; }));
    const auto below = children_of(waiter.pid());
    REQUIRE(below.size() == 1);
    kill(below.front(), SIGKILL);
    REQUIRE(eventually([&] { return !alive(below.front()); }));
    redis.command({"DEL", key});
    // 70 where it was still told to start the command: a child of it may keep its channel open.
    const int status = waiter.wait();
    CHECK_MESSAGE((status == 70 || status == 71), status);
    CHECK(waiter.out().empty());
    CHECK(waiter.err().find("the warden process was killed") != std::string::npos);
    CHECK(redis.command({"EXISTS", key}) == "0");
}

TEST_CASE("the warden killed: what the shell that became the keeper had started is left alone") {
    auto& redis = shared_redis();
    const std::string mark = "TREE_MARK=" + std::to_string(getpid()) + "-earlier";
    auto environment = clean_environment(redis.unix_url());
    environment.push_back(mark);
    Process keeper({"sh", "-c",
                    "(sleep 1000; true) & exec " + program_path() +
                        " agent:earlier -- sh -c 'echo ready; exec sleep 2000'"},
                   {.environment = environment});
    REQUIRE(eventually([&] { return keeper.out() == "ready\n"; }));
    for (const pid_t child : children_of(keeper.pid()))
        if (read_file("/proc/" + std::to_string(child) + "/comm") == "sandbox-warden\n")
            kill(child, SIGKILL);
    CHECK(keeper.wait() == 70);
    const auto left = processes_with(mark);
    CHECK(left.size() == 2);
    for (const pid_t pid : left) kill(pid, SIGKILL);
}

TEST_CASE("a tree that ignores TERM is killed when keeper or warden is gone") {
    auto& redis = shared_redis();
    const std::string stubborn =
        "trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & echo ready; sleep 1000";
    SUBCASE("keeper") {
        Tree tree(redis, {"--kill-after", "200ms"}, "stubborn-1", stubborn);
        tree.keeper.signal(SIGKILL);
        CHECK(tree.gone());
    }
    SUBCASE("warden") {
        Tree tree(redis, {"--kill-after", "200ms"}, "stubborn-2", stubborn);
        kill(tree.warden, SIGKILL);
        CHECK(tree.gone());
        CHECK(tree.keeper.wait() == 70);
        // Nobody knows what a killed client has left running elsewhere.
        CHECK(redis.command({"GET", key_of("agent:stubborn-2")}).has_value());
        CHECK(tree.keeper.err().find("stays closed") != std::string::npos);
    }
}

TEST_CASE("the keeper stopped: the tree is gone before the lease is over, status 79 after CONT") {
    auto& redis = shared_redis();
    Tree tree(redis, {"--lease-ttl", "2s"}, "keeper-stopped");
    tree.keeper.signal(SIGSTOP);
    CHECK(tree.gone());
    const auto left = redis.command({"PTTL", key_of("agent:keeper-stopped")});
    REQUIRE(left);
    CHECK(std::stol(*left) > 0);
    tree.keeper.signal(SIGCONT);
    CHECK(tree.keeper.wait() == 79);
    const auto err = tree.keeper.err();
    CHECK(err.find("the lease is running out") != std::string::npos);
    CHECK(std::ranges::count(err, '\n') == 1);
}

TEST_CASE("the warden stopped: the lease is kept, and the end is not missed") {
    auto& redis = shared_redis();
    Tree tree(redis, {"--lease-ttl", "2s"}, "warden-stopped");
    kill(tree.warden, SIGSTOP);
    SUBCASE("lost meanwhile: the keeper ends the tree in its place") {
        redis.command({"SET", key_of("agent:warden-stopped"), "foreign", "PX", "60000"});
        CHECK(tree.gone());
        CHECK(tree.keeper.wait() == 79);
        CHECK(redis.command({"GET", key_of("agent:warden-stopped")}) == "foreign");
        redis.command({"DEL", key_of("agent:warden-stopped")});
    }
    SUBCASE("the keeper killed meanwhile: it wakes up and ends the tree") {
        tree.keeper.signal(SIGKILL);
        CHECK(tree.gone());
    }
    SUBCASE("continued: it finds the deadlines that moved meanwhile") {
        const auto key = key_of("agent:warden-stopped");
        REQUIRE(eventually([&] { return state_of(tree.warden) == 'T'; }));
        const Stopwatch stopped;
        while (stopped.seconds() < 2.5) REQUIRE(redis.command({"EXISTS", key}) == "1");
        kill(tree.warden, SIGCONT);
        const Stopwatch continued;
        while (continued.seconds() < 0.5) REQUIRE_FALSE(tree.keeper.ended());
        CHECK(tree.command().size() >= 4);
        tree.keeper.signal(SIGTERM);
        CHECK(tree.keeper.wait() == 143);
        CHECK(tree.gone());
    }
}

TEST_CASE("the warden stopped, and the lease runs out: status 79, and the warden goes last") {
    RedisServer redis;
    Tree tree(redis, {"--lease-ttl", "2s"}, "warden-stopped-lost");
    kill(tree.warden, SIGSTOP);
    redis.stop();
    // Were the keeper killed just then, the warden would be left to end the tree.
    REQUIRE(eventually([&] { return !alive(tree.warden); }));
    CHECK(tree.gone(0s));
    CHECK(tree.keeper.wait() == 79);
    CHECK(tree.keeper.err().find("does not act") != std::string::npos);
    redis.resume();
}

TEST_CASE("a server that stops answering: the tree is gone before the lease is over, status 79") {
    RedisServer redis;
    Tree tree(redis, {"--lease-ttl", "2s"}, "server-stopped");
    const Stopwatch since_stop;
    redis.stop();
    CHECK(tree.gone());
    CHECK(since_stop.seconds() < 2.0);
    CHECK(tree.keeper.wait() == 79);
    CHECK(tree.keeper.err().find("cannot renew the lease") != std::string::npos);
    redis.resume();
}

TEST_CASE("a server restarted empty: the command runs on and the key is back") {
    RedisServer redis;
    Tree tree(redis, {"--lease-ttl", "5s"}, "server-restarted");
    const auto token = redis.command({"GET", key_of("agent:server-restarted")});
    redis.kill();
    redis.start();
    CHECK(eventually([&] {
        return redis.command({"GET", key_of("agent:server-restarted")}) == token;
    }));
    CHECK(tree.command().size() >= 4);
    CHECK(eventually([&] { return tree.keeper.err().find("set again") != std::string::npos; }));
    tree.keeper.signal(SIGTERM);
    CHECK(tree.keeper.wait() == 143);
}

TEST_CASE("after a restart holders come first: who arrives waits for them") {
    RedisServer redis;
    Tree tree(redis, {"--lease-ttl", "5s"}, "holders-first");
    redis.kill();
    redis.start();
    auto late = sandbox_lock(redis.unix_url(), {"-n", "agent:holders-first", "--", "true"});
    CHECK(late.wait() == 75);
}

TEST_CASE("a foreign token in the key: our release leaves it alone") {
    auto& redis = shared_redis();
    const auto key = key_of("agent:foreign");
    SUBCASE("the command is ended, status 79") {
        Tree tree(redis, {"--lease-ttl", "1s"}, "foreign");
        redis.command({"SET", key, "foreign", "PX", "60000"});
        CHECK(tree.keeper.wait() == 79);
        CHECK(tree.gone(0s));
        CHECK(tree.keeper.err().find("somebody else holds the slot") != std::string::npos);
    }
    SUBCASE("with --on-lost warn it runs on to its own end") {
        const TempDir dir;
        const std::string fifo = dir / "fifo";
        REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
        Tree tree(redis, {"--lease-ttl", "1s", "--on-lost", "warn"}, "foreign",
                  "echo ready; read line < " + fifo + "; exit 5");
        redis.command({"SET", key, "foreign", "PX", "60000"});
        CHECK(eventually([&] { return tree.keeper.err().find("runs on") != std::string::npos; }));
        write_file(fifo, "go on\n");
        CHECK(tree.keeper.wait() == 5);
    }
    SUBCASE("a command that ends before it is noticed keeps its status") {
        Tree tree(redis, {}, "foreign", "echo ready; exec sleep 0.3");
        redis.command({"SET", key, "foreign", "PX", "60000"});
        CHECK(tree.keeper.wait() == 0);
    }
    CHECK(redis.command({"GET", key}) == "foreign");
    redis.command({"DEL", key});
}

TEST_CASE(
    "without renewal the command is ended when the ttl is over, with the figure to raise it to") {
    auto& redis = shared_redis();
    Tree tree(redis, {"--no-renew", "--lease-ttl", "1s"}, "no-renew");
    CHECK(tree.keeper.wait() == 79);
    CHECK(tree.gone(0s));
    CHECK(tree.keeper.err().find("raise --lease-ttl") != std::string::npos);
}

TEST_CASE("what a command leaves in the background when it ends by itself is not ours") {
    auto& redis = shared_redis();
    const std::string script = "sleep 1000 & setsid sleep 1000 & echo ready; exec sleep 0.2";
    SUBCASE("it lives on, and the slot is free") {
        Tree tree(redis, {}, "left-behind", script);
        CHECK(tree.keeper.wait() == 0);
        CHECK_FALSE(redis.command({"GET", key_of("agent:left-behind")}));
        const auto left = tree.command();
        CHECK(left.size() == 2);
        for (const pid_t pid : left) kill(pid, SIGKILL);
    }
    SUBCASE("--wait-descendants keeps the slot until it is gone") {
        Tree tree(redis, {"--wait-descendants"}, "left-behind", script);
        REQUIRE(eventually([&] {
            const auto left = tree.command();
            // Not yet the command itself, while one of the others has no environment in its exec.
            return left.size() == 2 && std::ranges::none_of(left, [](pid_t pid) {
                       const auto words = read_file("/proc/" + std::to_string(pid) + "/cmdline");
                       return words.find("0.2") != words.npos || words.starts_with("sh");
                   });
        }));
        CHECK_FALSE(tree.keeper.ended());
        CHECK(redis.command({"GET", key_of("agent:left-behind")}).has_value());
        for (const pid_t pid : tree.command()) kill(pid, SIGKILL);
        CHECK(tree.keeper.wait() == 0);
        CHECK_FALSE(redis.command({"GET", key_of("agent:left-behind")}));
    }
}

TEST_CASE("after a signal that ends the run nothing of the tree is left when the slot is freed") {
    auto& redis = shared_redis();
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
        CAPTURE(signal);
        Tree tree(redis, {}, "interrupted");
        tree.keeper.signal(signal);
        CHECK(tree.keeper.wait() == 128 + signal);
        CHECK(tree.gone(0s));
        CHECK_FALSE(redis.command({"GET", key_of("agent:interrupted")}));
    }
}

TEST_CASE("a process that cannot be killed is told of, and outlived by the keeper") {
    if (geteuid() != 0) {
        MESSAGE("skipped: needs root to make a process that the keeper may not signal");
        return;
    }
    auto& redis = shared_redis();
    const auto key = key_of("agent:other-user");
    // The keeper without CAP_KILL, the command another user's.
    auto environment = clean_environment(redis.unix_url());
    Process run({"setpriv", "--bounding-set=-kill", program_path(), "--lease-ttl", "1s",
                 "--kill-after", "100ms", "agent:other-user", "--", "setpriv", "--reuid", "65534",
                 "--clear-groups", "sh", "-c", "trap '' TERM; echo ready; sleep 5"},
                {.environment = environment});
    REQUIRE(eventually([&] { return run.out() == "ready\n"; }));
    redis.command({"SET", key, "foreign", "PX", "60000"});
    CHECK(eventually([&] { return run.err().find("cannot be killed") != std::string::npos; }));
    CHECK(run.err().find("does not act") == std::string::npos);
    CHECK(run.wait() == 79);
    CHECK(redis.command({"GET", key}) == "foreign");
    redis.command({"DEL", key});
}

TEST_CASE("a fork storm is ended with the rest") {
    auto& redis = shared_redis();
    Tree tree(redis, {"--kill-after", "100ms"}, "fork-storm",
              "trap '' TERM; echo ready; while :; do (trap '' TERM; sleep 0.02; sleep 1000) & "
              "sleep 0.005; done");
    REQUIRE(eventually([&] { return tree.command().size() > 20; }));
    tree.keeper.signal(SIGKILL);
    CHECK(tree.gone());
}
