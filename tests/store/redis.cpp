// What is Redis's own beside the contract (contract.cpp), on a real server, by the store's own
// interface.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "store/client.hpp"
#include "store/observer.hpp"
#include "store/redis/server_route.hpp"
#include "store/redis/session.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/shifted_clock.hpp"

using namespace store_tests;
using namespace support;
using guard::Fault;

TEST_CASE("an answer that was lost: the retry finds its own entry and does not wait for itself") {
    auto& redis = shared_redis();
    Client client(redis.unix_url(), "agent:lost-answer");
    // As if an earlier request of ours had come through and its answer had not.
    redis.command({"SET", client.claim.key, client.claim.token, "PX", "1000"});
    const auto lease = client.enter(once);
    REQUIRE(lease);
    CHECK(std::stol(*redis.command({"PTTL", client.claim.key})) > 20000);
    CHECK(client.release());
    CHECK(redis.command({"EXISTS", client.claim.key}) == "0");
}

TEST_CASE(
    "the fence grows with each entry, also after it has expired or has run ahead of the clock") {
    auto& redis = shared_redis();
    std::uint64_t last = 0;
    for (int i = 0; i < 5; ++i) {
        Client client(redis.unix_url(), "agent:fence");
        const auto lease = client.enter(once);
        REQUIRE(lease);
        CHECK(lease->fence > last);
        last = lease->fence;
        CHECK(client.release());
        if (i == 1) redis.command({"DEL", fence_of("agent:fence")});
        if (i == 2) {
            last += 3'600'000'000;
            redis.command({"SET", fence_of("agent:fence"), std::to_string(last)});
        }
        if (i == 3) CHECK(lease->fence == last);
    }
    redis.command({"DEL", fence_of("agent:fence")});
}

TEST_CASE(
    "interrupted between the request and its answer: the release behind it clears the entry") {
    auto& redis = shared_redis();
    Client client(redis.unix_url(), "agent:cut");
    client.run.interrupted = true;  // every wait fails, so the answer is never read
    const auto lease = client.enter();
    REQUIRE_FALSE(lease);
    CHECK(client.release());
    CHECK(eventually([&] { return redis.command({"EXISTS", client.claim.key}) == "0"; }));
    Client next(redis.unix_url(), "agent:cut");
    CHECK(next.enter(once));
    CHECK(next.release());
}

TEST_CASE("renewal extends, restores a missing key, and gives in to a foreign one") {
    auto& redis = shared_redis();
    Client client(redis.unix_url(), "agent:renewal", 1s);
    const auto lease = client.enter(once);
    REQUIRE(lease);
    SUBCASE("extends") {
        client.run.interrupt_at = BootClock::now() + 1500ms;
        CHECK_FALSE(client.store->hold(*lease, client.run).lost);
        CHECK(client.run.deadlines.size() >= 3);
        CHECK(std::ranges::is_sorted(client.run.deadlines));
        CHECK(redis.command({"GET", client.claim.key}) == client.claim.token);
    }
    SUBCASE("restores") {
        redis.command({"DEL", client.claim.key});
        client.run.interrupt_at = BootClock::now() + 600ms;
        CHECK_FALSE(client.store->hold(*lease, client.run).lost);
        CHECK(client.told("lease-restored"));
        CHECK(redis.command({"GET", client.claim.key}) == client.claim.token);
    }
    SUBCASE("foreign") {
        redis.command({"SET", client.claim.key, "foreign", "PX", "60000"});
        CHECK(client.store->hold(*lease, client.run).lost);
        CHECK(redis.command({"GET", client.claim.key}) == "foreign");
    }
    SUBCASE("a key of another type is foreign, too") {
        redis.command({"DEL", client.claim.key});
        redis.command({"RPUSH", client.claim.key, "x"});
        CHECK(client.store->hold(*lease, client.run).lost);
        CHECK(client.release());
        CHECK(redis.command({"TYPE", client.claim.key}) == "list");
    }
    SUBCASE("a connection that the server closes is made again at once") {
        redis.command({"CLIENT", "KILL", "TYPE", "normal"});
        client.run.interrupt_at = BootClock::now() + 200ms;  // before a third of the ttl
        CHECK_FALSE(client.store->hold(*lease, client.run).lost);
        CHECK(client.run.deadlines.size() == 1);
    }
    CHECK(client.release());
    redis.command({"DEL", client.claim.key});
}

TEST_CASE("a lease that was taken away, or passed on to another, is not set again") {
    auto& redis = shared_redis();
    Client client(redis.unix_url(), "agent:passed", 3s);
    const auto lease = client.enter(once);
    REQUIRE(lease);
    bool restores = false;
    SUBCASE("broken by force") {
        const auto observer =
            store::observe({redis.unix_url(), std::nullopt, 2s, 1s, 20ms}, [](const auto&) {});
        REQUIRE(observer);
        CHECK((*observer)->take_away(client.claim.key, client.claim.token, "", client.undisturbed));
    }
    SUBCASE("deleted, and another one came and went") {
        redis.command({"DEL", client.claim.key});
        Client other(redis.unix_url(), "agent:passed");
        REQUIRE(other.enter(once));
        CHECK(other.release());
    }
    SUBCASE("no: the server has lost all, or all but the fence of an earlier entry") {
        restores = true;
        redis.command({"DEL", client.claim.key, fence_of("agent:passed")});
        SUBCASE("the fence, too") {}
        SUBCASE("an earlier fence") {
            redis.command({"SET", fence_of("agent:passed"), "1000"});
        }
    }
    client.run.interrupt_at = BootClock::now() + 1500ms;
    const auto holding = client.store->hold(*lease, client.run);
    CHECK(holding.lost != restores);
    CHECK(client.told("lease-restored") == restores);
    if (!restores) CHECK(holding.why.find("taken away") != std::string::npos);
    CHECK(redis.command({"EXISTS", client.claim.key}) == (restores ? "1" : "0"));
    CHECK(client.release());
}

TEST_CASE("an answer that takes long leaves time to renew, or the slot is asked for again") {
    RedisServer redis;
    Client client(redis.unix_url(), "agent:slow", 1s);
    const auto enter_after = [&](guard::Duration delay) {
        redis.stop();
        std::thread helper([&] {
            std::this_thread::sleep_for(delay);
            redis.resume();
        });
        const auto lease = client.enter(once);
        helper.join();
        REQUIRE(lease);
        return *lease;
    };
    SUBCASE("some time has passed: the first renewal comes that much sooner") {
        const auto lease = enter_after(400ms);
        client.run.interrupt_at = BootClock::now() + 600ms;
        CHECK_FALSE(client.store->hold(lease, client.run).lost);
        REQUIRE_FALSE(client.run.deadlines.empty());
        CHECK(client.run.deadlines.front() - lease.deadline < 600ms);
    }
    SUBCASE("most of the lease has passed") {
        const auto lease = enter_after(800ms);
        CHECK(lease.deadline - BootClock::now() > 500ms);
    }
    CHECK(client.release());
    CHECK(redis.command({"EXISTS", client.claim.key}) == "0");
}

TEST_CASE("a server that cannot serve is named in plain words") {
    RedisServer redis;
    const auto error = [&] {
        Client client(redis.unix_url(), "agent:fault");
        const auto lease = client.enter({.until = BootClock::now() + 3s});
        REQUIRE_FALSE(lease);
        CHECK(lease.error().text.find(redis.socket()) != std::string::npos);
        return lease.error();
    };
    SUBCASE("READONLY") {
        redis.command({"REPLICAOF", "127.0.0.1", "1"});
        redis.command({"CONFIG", "SET", "replica-serve-stale-data", "yes"});
        const auto told = error();
        CHECK(told.fault == Fault::unreachable);
        CHECK(told.text.find("read-only replica") != std::string::npos);
    }
    SUBCASE("MASTERDOWN") {
        redis.command({"REPLICAOF", "127.0.0.1", "1"});
        redis.command({"CONFIG", "SET", "replica-serve-stale-data", "no"});
        CHECK(error().text.find("replica that has lost its primary") != std::string::npos);
        Client nested(redis.unix_url(), "agent:fault");
        CHECK_FALSE(nested.store->held_by("x", BootClock::now() + 3s, nested.run));
    }
    SUBCASE("OOM") {
        redis.command({"CONFIG", "SET", "maxmemory", "1"});
        CHECK(error().text.find("out of memory") != std::string::npos);
    }
    SUBCASE("BUSY") {
        redis.command({"CONFIG", "SET", "lua-time-limit", "1"});
        std::thread busy([&] { redis.command({"EVAL", "while true do end", "0"}); });
        REQUIRE(eventually([&] {
            return redis.command({"GET", "x"}).value_or("").starts_with("ERROR BUSY");
        }));
        CHECK(error().text.find("busy with a script") != std::string::npos);
        redis.command({"SCRIPT", "KILL"});
        busy.join();
    }
    SUBCASE("NOREPLICAS") {
        redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
        CHECK(error().text.find("too few replicas") != std::string::npos);
    }
}

TEST_CASE("INFO is a right that may be missing") {
    RedisServer redis;
    redis.command(
        {"ACL",   "SETUSER", "small",    "on",      ">hunter2", "~agentscope:*", "~{agentscope:*",
         "-@all", "+eval",   "+evalsha", "+get",    "+set",     "+del",          "+pexpire",
         "+pttl", "+time",   "+zadd",    "+zrange", "+zrank",   "+zrem",         "+zscore"});
    Client client("redis+unix://small:hunter2@" + redis.socket(), "agent:small");
    const auto lease = client.enter(once);
    REQUIRE(lease);
    CHECK(client.release());
    CHECK(redis.command({"EXISTS", client.claim.key}) == "0");
}

TEST_CASE("any right that is missing is a refusal, no server that is down") {
    RedisServer redis;
    for (const char* right : {"eval", "get", "set", "time"}) {
        CAPTURE(right);
        redis.command({"ACL", "SETUSER", "less", "reset", "on", ">hunter2", "~*", "+@all",
                       std::string("-") + right});
        redis.command({"SCRIPT", "FLUSH"});
        Client client("redis+unix://less:hunter2@" + redis.socket(), "agent:less");
        const auto lease = client.enter(once);
        REQUIRE_FALSE(lease);
        CHECK(lease.error().fault == Fault::denied);
        (void)client.release();
    }
    redis.command({"ACL", "SETUSER", "less", "reset", "on", ">hunter2", "~other:*", "+@all"});
    Client client("redis+unix://less:hunter2@" + redis.socket(), "agent:less");
    CHECK(client.enter(once).error().fault == Fault::denied);
}

TEST_CASE("a server that has just started is given time, whatever the fraction of its second") {
    RedisServer redis;
    for (int i = 0; i < 6; ++i) {
        redis.kill();
        redis.start();
        const auto started = BootClock::now();
        Client client(redis.unix_url(), "agent:young");
        CHECK(client.enter(once));
        CHECK(BootClock::now() - started >= 900ms);
        CHECK(client.told("store-young"));
        CHECK(client.release());
    }
}

TEST_CASE("a server whose clock was set back is not taken for one that has just started") {
    const ShiftedClock clock;
    RedisNode redis({.environment = clock.environment()});
    redis.wait_old();
    clock.set(-1h);
    Client client("redis+unix://" + redis.socket(), "agent:set-back");
    const auto start = BootClock::now();
    CHECK(client.enter(once));
    CHECK(BootClock::now() - start < 900ms);
    CHECK(client.release());
}

TEST_CASE("a lease that goes on for longer than our clock is waited for like any other") {
    auto& redis = shared_redis();
    Client client(redis.unix_url(), "agent:ages");
    redis.command({"SET", client.claim.key, "foreign", "PX", "31557600000000"});  // 1000 years
    CHECK(client.enter({.until = BootClock::now() + 200ms}).error().fault == Fault::taken);
    redis.command({"DEL", client.claim.key});
    CHECK(client.release());
}

TEST_CASE("a fence of another type or with no number in it is replaced") {
    auto& redis = shared_redis();
    for (const bool list : {true, false}) {
        const auto key = fence_of("agent:odd-fence");
        redis.command({"DEL", key});
        redis.command(list ? std::vector<std::string>{"RPUSH", key, "x"}
                           : std::vector<std::string>{"SET", key, "x"});
        Client client(redis.unix_url(), "agent:odd-fence");
        CHECK(client.enter(once));
        CHECK(client.release());
        CHECK(redis.command({"TYPE", key}) == "string");
    }
}

TEST_CASE("a slot whose name looks like another one's fence is left alone") {
    auto& redis = shared_redis();
    Client looks_like(redis.unix_url(), "agent:a{b}c:fence");
    Client client(redis.unix_url(), "agent:a{b}c");
    REQUIRE(looks_like.enter(once));
    REQUIRE(client.enter(once));
    CHECK(redis.command({"GET", looks_like.claim.key}) == looks_like.claim.token);
    CHECK(client.release());
    CHECK(looks_like.release());
}

TEST_CASE("scripts are sent again when the server has lost them") {
    auto& redis = shared_redis();
    Client client(redis.unix_url(), "agent:flushed");
    REQUIRE(client.enter(once));
    redis.command({"SCRIPT", "FLUSH"});
    CHECK(client.release());
    CHECK(redis.command({"EXISTS", client.claim.key}) == "0");
}

TEST_CASE("a message that comes in one piece with a reply is not missed") {
    auto& redis = shared_redis();
    const auto url = store::Url::parse(redis.unix_url());
    store::redis::Session session{
        store::redis::route_to(*store::redis::Endpoint::from(*url, std::nullopt))};
    TestRun run;
    const auto until = BootClock::now() + patience;
    REQUIRE(session.connect(until, run));
    REQUIRE(*session.subscribe("together", until, run));
    // Without NOLOOP the server tells us of our own change, right behind the reply to it.
    REQUIRE(session.request({"CLIENT", "TRACKING", "ON"}, until, run));
    for (int i = 0; i < 20; ++i) {
        REQUIRE(session.request({"GET", "together"}, until, run));
        REQUIRE(session.request({"SET", "together", "x"}, until, run));
        REQUIRE(session.idle(BootClock::now() + 5s, run) == Wake::ready);
        const auto push = session.next_push();
        REQUIRE(push);
        CHECK(store::redis::text_at(*push, 0) == "invalidate");
    }
    redis.command({"DEL", "together"});
}
