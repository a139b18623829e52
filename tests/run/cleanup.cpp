// What runs between the end of the command and that of the run, and how long the slot stays closed.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

using namespace support;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

/// What a cleanup command sees, in one line on standard error.
const std::string tells = "echo reason $SANDBOX_LOCK_REASON status $SANDBOX_LOCK_STATUS";
const std::string runs_on = "echo ready; exec sleep 1000";

Process run(const std::string& slot, Words options, const Words& command) {
    options.insert(options.end(), {"agent:" + slot, "--"});
    options.insert(options.end(), command.begin(), command.end());
    return sandbox_lock(shared_redis().unix_url(), options);
}

bool is_ready(const Process& process) {
    return eventually([&] { return process.out().find("ready") != std::string::npos; });
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// -2 where the slot is free.
long long ttl(const std::string& slot) {
    return std::stoll(shared_redis().command({"PTTL", key_of("agent:" + slot)}).value_or("-3"));
}

pid_t warden_of(const Process& keeper) {
    const auto below = children_of(keeper.pid());
    REQUIRE(below.size() == 1);
    return below.front();
}

}  // namespace

TEST_CASE(
    "cleanup commands run on every way out, with reason and status, and then the slot is free") {
    SUBCASE("exit") {
        auto done = run("way", {"--cleanup", tells}, {"sh", "-c", "exit 5"});
        CHECK(done.wait() == 5);
        CHECK(done.err() == "reason exit status 5\n");
    }
    SUBCASE("a signal of the command's own") {
        auto done = run("way", {"--cleanup", tells}, {"sh", "-c", "kill -USR1 $$"});
        CHECK(done.wait() == 128 + SIGUSR1);
        CHECK(done.err() == "reason signal status " + std::to_string(128 + SIGUSR1) + "\n");
    }
    SUBCASE("a signal that was sent to the keeper") {
        for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
            auto done = run("way", {"--cleanup", tells}, {"sh", "-c", runs_on});
            REQUIRE(is_ready(done));
            done.signal(signal);
            CHECK(done.wait() == 128 + signal);
            CHECK(done.err() == "reason interrupted status " + std::to_string(128 + signal) + "\n");
        }
    }
    SUBCASE("a command that there is not, or that cannot be run") {
        auto missing = run("way", {"--cleanup", tells}, {"/nowhere"});
        CHECK(missing.wait() == 127);
        CHECK(has(missing.err(), "reason exit status 127\n"));
        auto forbidden = run("way", {"--cleanup", tells}, {"/etc/passwd"});
        CHECK(forbidden.wait() == 126);
        CHECK(has(forbidden.err(), "reason exit status 126\n"));
    }
    SUBCASE("KILL of the command: the slot need not lapse") {
        auto done = run("way", {"--cleanup", tells, "--kill-after", "100ms"},
                        {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"});
        REQUIRE(is_ready(done));
        const auto below = children_of(warden_of(done));
        const auto command = std::ranges::find_if(below, alive);  // there is a zombie, too
        REQUIRE(command != below.end());
        kill(*command, SIGKILL);
        CHECK(done.wait() == 128 + SIGKILL);
        CHECK(done.err() == "reason signal status 137\n");
    }
    SUBCASE("KILL of the warden") {
        auto done = run("way", {"--cleanup", tells}, {"sh", "-c", runs_on});
        REQUIRE(is_ready(done));
        const pid_t warden = warden_of(done);
        // It has told then which process the command is, or nobody would know its status.
        REQUIRE(eventually([&] { return getsid(warden) == warden; }));
        kill(warden, SIGKILL);
        CHECK(done.wait() == 70);
        const auto err = done.err();
        CAPTURE(err);
        CHECK(has(err, "reason interrupted status 143\n"));
    }
    CHECK(ttl("way") == -2);
}

TEST_CASE("KILL of the keeper: the warden cleans up, and the slot lapses") {
    auto keeper = run("keeper", {"--cleanup", tells, "--cleanup", "exit 3"}, {"sh", "-c", runs_on});
    REQUIRE(is_ready(keeper));
    keeper.signal(SIGKILL);
    CHECK(eventually([&] { return has(keeper.err(), "reason interrupted status 143\n"); }));
    CHECK(eventually([&] { return has(keeper.err(), "cleanup command 2 ended with status 3\n"); }));
    CHECK(ttl("keeper") > 0);
}

TEST_CASE("a lost lease: cleanup commands get what time is left, and no more") {
    SUBCASE("taken away") {
        auto done = run("lost", {"--cleanup", tells, "--lease-ttl", "1s"}, {"sh", "-c", runs_on});
        REQUIRE(is_ready(done));
        shared_redis().command({"SET", key_of("agent:lost"), "foreign", "PX", "60000"});
        CHECK(done.wait() == 79);
        CHECK(has(done.err(), "reason lost status 79\n"));
    }
    SUBCASE("it ends") {
        const TempDir dir;
        auto done =
            run("lost",
                {"--cleanup", tells + "; sleep 1000; echo late", "--lease-ttl", "2s", "--no-renew"},
                {"sh", "-c", runs_on});
        REQUIRE(is_ready(done));
        CHECK(done.wait() == 79);
        CHECK(ttl("lost") > 0);
        CHECK(has(done.err(), "reason lost status 79\n"));
        CHECK(has(done.err(), "the cleanup did not end in time"));
        CHECK_FALSE(has(done.err(), "late"));
    }
    shared_redis().command({"DEL", key_of("agent:lost")});
}

TEST_CASE("the lease is renewed while cleanup commands run, and the next one waits for them") {
    const TempDir dir;
    auto first =
        run("renewed", {"--lease-ttl", "1s", "--cleanup", "sleep 2.5; echo $$ >" + dir / "done"},
            {"true"});
    REQUIRE(eventually([&] { return ttl("renewed") > 0; }));
    auto next = run("renewed", {}, {"cat", dir / "done"});
    CHECK(next.wait() == 0);
    CHECK_FALSE(next.out().empty());
    CHECK(first.wait() == 0);
}

TEST_CASE("a cleanup command that fails, or takes too long, is told, and the slot stays closed") {
    const TempDir dir;
    Words options{"--cleanup", "echo one", "--cleanup", "exit 4", "--cleanup", "echo three"};
    SUBCASE("fails") {
        auto done = run("fails", options, {"sh", "-c", "exit 6"});
        CHECK(done.wait() == 6);
        CHECK(has(done.err(), "one\n"));
        CHECK(has(done.err(), "three\n"));
        CHECK(has(done.err(), "agent:fails: cleanup command 2 ended with status 4\n"));
    }
    SUBCASE("too long, with all that it has started") {
        const std::string mark = "CLEANUP_MARK=" + std::to_string(getpid());
        auto done = run("fails",
                        {"--cleanup-timeout", "200ms", "--cleanup",
                         "export " + mark + "; trap '' TERM; setsid sleep 1000 & sleep 1000"},
                        {"true"});
        CHECK(done.wait() == 0);
        CHECK(has(done.err(), "cleanup command 1 did not end in time"));
        CHECK(processes_with(mark).empty());
    }
    SUBCASE("whoever runs it is killed") {
        const std::string mark = "CLEANUP_MARK=" + std::to_string(getpid());
        auto done = run(
            "fails", {"--cleanup", "export " + mark + "; echo in; setsid sleep 1000 & sleep 1000"},
            {"true"});
        REQUIRE(eventually([&] { return has(done.err(), "in\n"); }));
        const auto cleaner = children_of(warden_of(done));
        REQUIRE(cleaner.size() == 1);
        kill(cleaner.front(), SIGKILL);
        CHECK(done.wait() == 0);
        CHECK(has(done.err(), "the cleanup was killed"));
        CHECK(processes_with(mark).empty());
    }
    CHECK(ttl("fails") > 1000);
    shared_redis().command({"DEL", key_of("agent:fails")});
}

TEST_CASE("a cleanup command has no input, and its output is not the command's") {
    auto done =
        sandbox_lock(shared_redis().unix_url(),
                     {"--cleanup", "cat; echo to out", "agent:streams", "--", "echo", "own"},
                     {.input = "something\n"});
    CHECK(done.wait() == 0);
    CHECK(done.out() == "own\n");
    CHECK(done.err() == "to out\n");
}

TEST_CASE("what the command left in the background lives on while and after a cleanup is killed") {
    const std::string mark = "LEFT_MARK=" + std::to_string(getpid());
    auto done =
        sandbox_lock(shared_redis().unix_url(),
                     {"--cleanup-timeout", "200ms", "--cleanup", "unset LEFT_MARK; exec sleep 1000",
                      "agent:left", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &"},
                     {.environment = {mark}});
    CHECK(done.wait() == 0);
    const auto left = processes_with(mark);
    CHECK(left.size() == 1);
    for (const pid_t pid : left) kill(pid, SIGKILL);
    shared_redis().command({"DEL", key_of("agent:left")});
}

TEST_CASE("a nested call and one without a store clean up, too") {
    auto nested =
        run("nested", {},
            {program_path(), "--cleanup", tells, "agent:nested", "--", "sh", "-c", "exit 3"});
    CHECK(nested.wait() == 3);
    CHECK(nested.err() == "reason exit status 3\n");
    // One from the environment is for the outer call.
    auto outer = sandbox_lock(shared_redis().unix_url(),
                              {"agent:nested", "--", program_path(), "agent:nested", "--", "true"},
                              {.environment = {"SANDBOX_LOCK_CLEANUP=" + tells}});
    CHECK(outer.wait() == 0);
    CHECK(outer.err() == "reason exit status 0\n");
    auto alone = sandbox_lock("redis://127.0.0.1:1", {"--if-down", "run", "--cleanup", tells,
                                                      "agent:x", "--", "sh", "-c", "exit 4"});
    CHECK(alone.wait() == 4);
    CHECK(has(alone.err(), "reason exit status 4\n"));
}

TEST_CASE(
    "--linger: how long the slot stays closed behind a command that was killed or interrupted") {
    SUBCASE("after a signal of ours") {
        auto done = run("linger", {"--linger", "20s"}, {"sh", "-c", runs_on});
        REQUIRE(is_ready(done));
        done.signal(SIGTERM);
        CHECK(done.wait() == 128 + SIGTERM);
        CHECK(ttl("linger") > 1000);
        CHECK(ttl("linger") <= 20000);
    }
    SUBCASE("after a KILL, shorter than the ttl") {
        auto done = run("linger", {"--linger", "0", "--kill-after", "100ms"},
                        {"sh", "-c",
                         "setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.1; done' & "
                         "sleep 1000"});
        REQUIRE(is_ready(done));
        done.signal(SIGTERM);
        CHECK(done.wait() == 128 + SIGTERM);
        CHECK(ttl("linger") == -2);
    }
    SUBCASE("not after a command that ended by itself") {
        CHECK(run("linger", {"--linger", "20s"}, {"sh", "-c", "kill -KILL $$"}).wait() == 137);
        CHECK(ttl("linger") == -2);
    }
    SUBCASE("in a store where nothing lapses") {
        const TempDir dir;
        const std::string store = "file:" + dir / "locks";
        auto done =
            sandbox_lock(store, {"--linger", "1s", "agent:linger", "--", "sh", "-c", runs_on});
        REQUIRE(is_ready(done));
        const auto start = std::chrono::steady_clock::now();
        done.signal(SIGTERM);
        CHECK(sandbox_lock(store, {"agent:linger", "--", "true"}).wait() == 0);
        CHECK(std::chrono::steady_clock::now() - start >= 1s);
        CHECK(done.wait() == 128 + SIGTERM);
    }
    shared_redis().command({"DEL", key_of("agent:linger")});
}
