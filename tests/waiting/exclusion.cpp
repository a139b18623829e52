#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

TEST_CASE("200 contenders for one key: no overlap, all run, the fence grows with each entry") {
    auto& redis = shared_redis();
    const TempDir dir;
    const std::string log = dir / "log";
    // Each writes its start and its end from inside the command, by appends of a single write(2).
    const std::string script =
        "echo start $SANDBOX_LOCK_FENCE >> " + log + "; echo end $SANDBOX_LOCK_FENCE >> " + log;
    std::vector<Process> contenders;
    constexpr std::size_t count = 200;
    for (std::size_t i = 0; i < count; ++i)
        contenders.push_back(sandbox_lock(
            redis.unix_url(),
            {"--retry-interval", "20ms", "-q", "agent:crowd", "--", "sh", "-c", script}));
    for (auto& contender : contenders) REQUIRE(contender.wait(120s) == 0);

    std::istringstream lines{read_file(log)};
    long long previous = 0;
    std::size_t runs = 0;
    for (std::string word; lines >> word; ++runs) {
        long long begun = 0;
        long long ended = 0;
        REQUIRE(word == "start");
        REQUIRE((lines >> begun >> word >> ended));
        REQUIRE(word == "end");
        REQUIRE(begun == ended);
        REQUIRE(begun > previous);
        previous = begun;
    }
    CHECK(runs == count);
    CHECK_FALSE(redis.command({"GET", key_of("agent:crowd")}));
}

TEST_CASE("a key that another client has set is waited for") {
    auto& redis = shared_redis();
    const auto key = key_of("agent:other");
    redis.command({"SET", key, "foreign", "NX", "PX", "60000"});
    auto waiter = sandbox_lock(redis.unix_url(),
                               {"--retry-interval", "10ms", "agent:other", "--", "echo", "in"});
    REQUIRE(eventually([&] {
        return waiter.err().find("held by another client (token foreign)") != std::string::npos;
    }));
    CHECK(waiter.out().empty());
    SUBCASE("deleted") {
        redis.command({"DEL", key});
    }
    SUBCASE("expired") {
        redis.command({"PEXPIRE", key, "50"});
    }
    CHECK(waiter.wait() == 0);
    CHECK(waiter.out() == "in\n");
    CHECK(redis.command({"EXISTS", key}) == "0");
}

TEST_CASE("redis sees the key with its ttl while the command runs, and the fence alone after") {
    RedisServer redis;
    auto run = sandbox_lock(redis.unix_url(),
                            {"agent:code-agent", "--", "sh", "-c", "echo $$; exec sleep 1000"});
    REQUIRE(eventually([&] { return !run.out().empty(); }));
    const std::string key = "agentscope:sandbox:lock:agent:code-agent";
    CHECK(redis.keys() == key + "\n{" + key + "}:fence\n");
    const long left = std::stol(redis.command({"PTTL", key}).value_or("0"));
    CHECK(left > 20000);
    CHECK(left <= 30000);
    CHECK(redis.command({"TYPE", key}) == "string");
    run.signal(SIGTERM);
    CHECK(run.wait() == 143);
    CHECK(redis.keys() == "{" + key + "}:fence\n");
    CHECK(std::stol(redis.command({"PTTL", "{" + key + "}:fence"}).value_or("0")) > 0);
}

TEST_CASE("the lease is renewed for as long as the command runs") {
    auto& redis = shared_redis();
    const auto key = key_of("agent:renewed");
    auto run =
        sandbox_lock(redis.unix_url(), {"--lease-ttl", "1s", "agent:renewed", "--", "sleep", "3"});
    const Stopwatch watch;
    REQUIRE(eventually([&] { return redis.command({"EXISTS", key}) == "1"; }));
    while (!run.ended() && watch.seconds() < 2.5)
        REQUIRE((redis.command({"EXISTS", key}) == "1" || run.ended()));
    CHECK(run.wait() == 0);
    CHECK(run.err().empty());
}

TEST_CASE("a nested call for a key that is held passes straight through") {
    auto& redis = shared_redis();
    const std::string inner = program_path() + " agent:nested -- sh -c 'echo inner; exit 3'";
    auto outer =
        sandbox_lock(redis.unix_url(), {"-w", "5", "agent:nested", "--", "sh", "-c", inner});
    CHECK(outer.wait() == 3);
    CHECK(outer.out() == "inner\n");
    CHECK(outer.err().empty());

    // A token that is in the environment, but not in the store, opens nothing.
    redis.command({"SET", key_of("agent:nested"), "foreign", "PX", "60000"});
    auto stale = sandbox_lock(
        redis.unix_url(), {"-n", "agent:nested", "--", "true"},
        {.environment = {"SANDBOX_LOCK_KEY=" + key_of("agent:nested"), "SANDBOX_LOCK_TOKEN=old"}});
    CHECK(stale.wait() == 75);
    redis.command({"DEL", key_of("agent:nested")});
}

TEST_CASE("the command is told key, scope, value, token and fence") {
    auto& redis = shared_redis();
    auto run =
        sandbox_lock(redis.unix_url(),
                     {"--key-prefix", "my:locks", "USER:Jürgen: a {b}", "--", "sh", "-c",
                      "printf '%s\\n' \"$SANDBOX_LOCK_KEY\" \"$SANDBOX_LOCK_SCOPE\" "
                      "\"$SANDBOX_LOCK_VALUE\" \"$SANDBOX_LOCK_TOKEN\" \"$SANDBOX_LOCK_FENCE\"; "
                      "exec sleep 1000"});
    REQUIRE(eventually([&] { return std::ranges::count(run.out(), '\n') == 5; }));
    std::istringstream lines{run.out()};
    std::string key, scope, value, token, fence;
    std::getline(lines, key), std::getline(lines, scope), std::getline(lines, value);
    std::getline(lines, token), std::getline(lines, fence);
    CHECK(key == "my:locks:user:Jürgen: a {b}");
    CHECK(scope == "user");
    CHECK(value == "Jürgen: a {b}");
    CHECK(redis.command({"GET", key}) == token);
    CHECK(redis.command({"GET", "{b}:" + key + ":fence"}) == fence);
    CHECK(token.find("sleep 1000") == token.npos);
    run.signal(SIGTERM);
    run.wait();
}
