#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include "interop/harness.hpp"
#include "support/program.hpp"

using namespace interop;
using namespace support;

TEST_CASE("sandbox-lock waits for the harness, and gets in when it leaves") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto id = harness.enter("builder", "AGENT", "java-first");
    const auto token = token_in(redis, key_of("agent:java-first"));
    CHECK(is_uuid(token));
    const long left = std::stol(redis.command({"PTTL", key_of("agent:java-first")}).value_or("0"));
    CHECK(left > 1'700'000);
    CHECK(left <= 1'800'000);

    auto waiter = sandbox_lock(redis.url(), {"--retry-interval", "20ms", "agent:java-first", "--",
                                             "sh", "-c", "echo \"$SANDBOX_LOCK_TOKEN\""});
    REQUIRE(eventually([&] {
        return waiter.err().find(
                   "waiting: held by another client, such as the AgentScope harness (token " +
                   token + ")") != std::string::npos;
    }));
    CHECK(waiter.out().empty());
    CHECK(token_in(redis, key_of("agent:java-first")) == token);

    harness.leave(id);
    CHECK(waiter.wait() == 0);
    CHECK(waiter.out().starts_with("{\"id\":"));
    CHECK(redis.command({"EXISTS", key_of("agent:java-first")}) == "0");
}

TEST_CASE("the harness waits for sandbox-lock, for longer than the lease that it renews") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    auto holder = sandbox_lock(redis.url(), {"--lease-ttl", "1s", "agent:lock-first", "--", "sh",
                                             "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    const auto id = harness.begin("quick", "AGENT", "lock-first");
    REQUIRE(sees_tries(redis, 100));  // one every 20 ms: the time of two leases
    CHECK_FALSE(harness.has_said("entered", id));
    CHECK_FALSE(holder.ended());

    holder.signal(SIGTERM);
    CHECK(holder.wait() == 143);
    CHECK(holder.err().empty());
    CHECK(harness.says("entered", id));
    CHECK(is_uuid(token_in(redis, key_of("agent:lock-first"))));
    harness.leave(id);
    CHECK(redis.command({"EXISTS", key_of("agent:lock-first")}) == "0");
}

TEST_CASE("a sandbox-lock that gives up leaves the harness's slot alone") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto id = harness.enter("store", "USER", "42");
    const std::string key = "agentscope:guard:user:42";
    const auto token = token_in(redis, key);
    const std::vector<std::string> run{"--key-prefix", "agentscope:guard", "user:42", "--", "true"};
    const auto with = [&](std::vector<std::string> options) {
        options.insert(options.end(), run.begin(), run.end());
        return sandbox_lock(redis.url(), options);
    };
    int status = 0;
    SUBCASE("-n") {
        status = with({"-n"}).wait();
        CHECK(status == 75);
    }
    SUBCASE("-w") {
        status = with({"-w", "100ms"}).wait();
        CHECK(status == 75);
    }
    SUBCASE("a signal") {
        auto waiter = with({});
        REQUIRE(eventually([&] { return !waiter.err().empty(); }));
        waiter.signal(SIGINT);
        CHECK(waiter.wait() == 130);
    }
    CHECK(token_in(redis, key) == token);
    CHECK_FALSE(redis.command({"GET", "{" + key + "}:fence"}));
    harness.leave(id);
    CHECK(redis.command({"EXISTS", key}) == "0");
}

TEST_CASE("a harness that is interrupted leaves sandbox-lock's slot alone") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto key = key_of("session:interrupted");
    auto holder = sandbox_lock(
        redis.url(), {"session:interrupted", "--", "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    const auto token = token_in(redis, key);
    const auto id = harness.begin("quick", "SESSION", "interrupted");
    REQUIRE(sees_tries(redis, 2));
    harness.tell({"interrupt", id});
    CHECK(harness.says("interrupted", id));
    CHECK(token_in(redis, key) == token);
    holder.signal(SIGTERM);
    CHECK(holder.wait() == 143);
    CHECK(redis.command({"EXISTS", key}) == "0");
}
