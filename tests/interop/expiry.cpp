#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "interop/harness.hpp"
#include "support/program.hpp"

using namespace interop;
using namespace support;

namespace {

/// The pid that the command of a run has written.
pid_t command_of(const Process& run) {
    REQUIRE(eventually([&] { return run.out().ends_with('\n'); }));
    return pids_in(run.out()).front();
}

}  // namespace

TEST_CASE("after the harness died, sandbox-lock gets in when the lease is over") {
    auto& redis = shared_redis();
    Harness mortal{redis};
    const Stopwatch watch;
    (void)mortal.enter("brief", "AGENT", "java-died");
    mortal.kill();
    auto heir = sandbox_lock(redis.url(),
                             {"--retry-interval", "20ms", "-q", "agent:java-died", "--", "true"});
    CHECK(heir.wait() == 0);
    // Redis takes the time of a command a little before it runs it.
    CHECK(watch.seconds() > brief_ttl - 0.1);
}

TEST_CASE("after sandbox-lock was killed, the harness gets in when command and lease are over") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto key = key_of("agent:lock-died");
    auto holder = sandbox_lock(redis.url(), {"--lease-ttl", "2s", "agent:lock-died", "--", "sh",
                                             "-c", "echo $$; exec sleep 1000"});
    const pid_t command = command_of(holder);
    const auto id = harness.begin("quick", "AGENT", "lock-died");
    REQUIRE(sees_tries(redis, 2));
    const Stopwatch watch;
    const double left = std::stod(redis.command({"PTTL", key}).value_or("0")) / 1000;
    holder.signal(SIGKILL);
    CHECK(harness.says("entered", id));
    CHECK_FALSE(alive(command));
    CHECK(watch.seconds() > left - 0.1);
    harness.leave(id);
}

TEST_CASE("a harness that outlives its lease leaves the slot to sandbox-lock, which is in") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto key = key_of("user:java-late");
    const auto id = harness.enter("brief", "USER", "java-late");
    auto holder = sandbox_lock(redis.url(), {"--retry-interval", "20ms", "-q", "user:java-late",
                                             "--", "sh", "-c", "echo $$; exec sleep 1000"});
    const pid_t command = command_of(holder);
    const auto token = token_in(redis, key);
    CHECK_FALSE(is_uuid(token));
    harness.leave(id);
    CHECK(token_in(redis, key) == token);
    CHECK(alive(command));
    holder.signal(SIGTERM);
    CHECK(holder.wait() == 143);
    CHECK(redis.command({"EXISTS", key}) == "0");
}

TEST_CASE("a command that outlives its lease leaves the slot to the harness, which is in") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto key = key_of("user:lock-late");
    auto holder =
        sandbox_lock(redis.url(), {"--no-renew", "--lease-ttl", "1s", "--on-lost", "warn",
                                   "user:lock-late", "--", "sh", "-c", "echo $$; exec sleep 1000"});
    const pid_t command = command_of(holder);
    const auto id = harness.enter("quick", "USER", "lock-late");
    const auto token = token_in(redis, key);
    CHECK(is_uuid(token));
    CHECK(alive(command));
    holder.signal(SIGTERM);
    CHECK(holder.wait() == 143);
    CHECK(token_in(redis, key) == token);
    harness.leave(id);
    CHECK(redis.command({"EXISTS", key}) == "0");
}

TEST_CASE("a keeper that was stopped does not take the slot back from the harness") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto key = key_of("session:stopped");
    auto holder = sandbox_lock(redis.url(), {"--lease-ttl", "2s", "session:stopped", "--", "sh",
                                             "-c", "echo $$; exec sleep 1000"});
    const pid_t command = command_of(holder);
    holder.signal(SIGSTOP);
    const auto id = harness.enter("quick", "SESSION", "stopped");
    CHECK_FALSE(alive(command));
    const auto token = token_in(redis, key);
    CHECK(is_uuid(token));
    holder.signal(SIGCONT);
    CHECK(holder.wait() == 79);
    CHECK(token_in(redis, key) == token);
    harness.leave(id);
}

TEST_CASE("a slot that the store lost and the harness took is not taken back by a renewal") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto key = key_of("agent:deleted");
    auto holder = sandbox_lock(redis.url(), {"--lease-ttl", "3s", "agent:deleted", "--", "sh", "-c",
                                             "echo $$; exec sleep 1000"});
    const pid_t command = command_of(holder);
    const auto lost = token_in(redis, key);
    const auto id = harness.begin("quick", "AGENT", "deleted");
    // A renewal in between may set it again.
    REQUIRE(eventually([&] {
        redis.command(
            {"EVAL", "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1])",
             "1", key, lost});
        return harness.has_said("entered", id);
    }));
    const auto token = token_in(redis, key);
    CHECK(is_uuid(token));
    CHECK(holder.wait() == 79);
    CHECK_FALSE(alive(command));
    CHECK(token_in(redis, key) == token);
    harness.leave(id);
}
