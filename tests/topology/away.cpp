// --if-down: what is done about a store that is away at the start.
#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/redis_server.hpp"
#include "topology/runs.hpp"

using namespace support;
using topology::says;
using topology::Slot;

TEST_CASE("--if-down fail, as without it: 69 when the connect time-out is over") {
    Slot slot("agent:away", "redis://127.0.0.1:" + free_port(), {"--connect-timeout", "500ms"});
    for (const auto& options : {std::vector<std::string>{}, {"--if-down", "fail"}}) {
        auto run = slot.start(options, {"echo", "ran"});
        CHECK(run.wait() == 69);
        CHECK(run.out().empty());
    }
}

TEST_CASE("--if-down wait: until the store is there, the time is over, or a signal comes") {
    RedisNode redis({});
    redis.kill();
    Slot slot("agent:awaited", "redis://127.0.0.1:" + redis.port(),
              {"--if-down", "wait", "--connect-timeout", "300ms"});
    SUBCASE("the store comes") {
        auto run = slot.start({}, {"echo", "ran"});
        REQUIRE(eventually([&] { return says(run.err(), "trying again"); }));
        CHECK_FALSE(eventually([&] { return run.ended(); }, 500ms));
        redis.start();
        CHECK(run.wait() == 0);
        CHECK(run.out() == "ran\n");
    }
    SUBCASE("a store that hung goes on") {
        redis.start();
        redis.stop();
        auto run = slot.start({}, {"echo", "ran"});
        REQUIRE(eventually([&] { return says(run.err(), "trying again"); }));
        redis.resume();
        CHECK(run.wait() == 0);
    }
    SUBCASE("the time is over") {
        auto run = slot.start({"-w", "1"}, {"echo", "ran"});
        CHECK(run.wait() == 69);
        CHECK(run.out().empty());
    }
    SUBCASE("a signal") {
        auto run = slot.start({}, {"echo", "ran"});
        REQUIRE(eventually([&] { return says(run.err(), "trying again"); }));
        run.signal(SIGTERM);
        CHECK(run.wait() == 143);
        CHECK(run.out().empty());
    }
}

TEST_CASE("--if-down run: the command runs without the lock, with a warning and its own status") {
    Slot slot("agent:unlocked", "redis://127.0.0.1:" + free_port(),
              {"--if-down", "run", "--connect-timeout", "300ms"});
    auto run = slot.start({}, {"sh", "-c", "echo \"ran ${SANDBOX_LOCK_TOKEN-unlocked}\"; exit 3"});
    CHECK(run.wait() == 3);
    CHECK(run.out() == "ran unlocked\n");
    CHECK(says(run.err(), "WITHOUT the lock"));
    auto signalled = slot.start({}, {"sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return signalled.out() == "in\n"; }));
    signalled.signal(SIGTERM);
    CHECK(signalled.wait() == 143);
    CHECK(slot.start({}, {"/no/such/command"}).wait() == 127);
}

TEST_CASE("--if-down run: not where it is the user who has to do something") {
    auto& redis = shared_redis();
    const auto run = [&](const std::string& url) {
        auto process = Slot("agent:unlocked", url, {"--if-down", "run"}).start({}, {"echo", "ran"});
        const int status = process.wait();
        CHECK(process.out().empty());
        return status;
    };
    CHECK(run("redis://nobody:wrong@127.0.0.1:" + redis.port()) == 77);
    CHECK(run("redis://127.0.0.1:" + redis.port() + "/99") == 78);
    CHECK(run("redis://") == 78);
    REQUIRE(redis.command({"ACL", "SETUSER", "reader", "reset", "on", ">pw", "~*", "+@read"}) ==
            "OK");
    CHECK(run("redis://reader:pw@127.0.0.1:" + redis.port()) == 77);
    redis.command({"ACL", "DELUSER", "reader"});
    // Taken is not away.
    redis.command({"SET", key_of("agent:unlocked"), "foreign", "PX", "60000"});
    auto taken = Slot("agent:unlocked", redis.url(), {"--if-down", "run"}).start({"-n"}, {"true"});
    CHECK(taken.wait() == 75);
    redis.command({"DEL", key_of("agent:unlocked")});
}
