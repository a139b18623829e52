#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include "interop/harness.hpp"
#include "support/program.hpp"

using namespace interop;
using namespace support;

namespace {

/// Both sides of one slot.
struct Slot {
    std::string scope;     ///< of the harness
    std::string value;     ///< likewise
    std::string argument;  ///< sandbox-lock's KEY
    std::string key;       ///< in the store, after the prefix
};

const std::vector<Slot> slots{
    {"SESSION", "8f3a-17", "session:8f3a-17", "session:8f3a-17"},
    {"USER", "Jürgen Müller", "USER:Jürgen Müller", "user:Jürgen Müller"},
    {"USER", "沙箱 🚀", "user:沙箱 🚀", "user:沙箱 🚀"},
    {"AGENT", "a:b::c:", "Agent:a:b::c:", "agent:a:b::c:"},
    {"AGENT", " both ends ", "agent: both ends ", "agent: both ends "},
    {"AGENT", "{tag}/path*?%20\\", "agent:{tag}/path*?%20\\", "agent:{tag}/path*?%20\\"},
    {"AGENT", "__global__", "agent:__global__", "agent:__global__"},
    {"GLOBAL", "of no account", "global", "global:__global__"},
    {"GLOBAL", "of no account", "GLOBAL:__global__", "global:__global__"},
};

/// Both ways of making a guard, and how sandbox-lock is told of it.
struct Prefix {
    std::vector<std::string> guard;    ///< what the harness is told, after verb and name
    std::vector<std::string> options;  ///< of sandbox-lock
    std::string prefix;                ///< in the store
};

const std::vector<Prefix> prefixes{
    {{"guard", "", "", "20"}, {}, "agentscope:sandbox:lock:"},
    {{"guard", "team", "", "20"}, {"--key-prefix", "team"}, "team:"},
    {{"guard", "team:locks:", "", "20"}, {"--key-prefix", "team:locks:"}, "team:locks:"},
    {{"store", ""}, {"--key-prefix", "agentscope:guard:"}, "agentscope:guard:"},
    {{"store", "prod:"}, {"--key-prefix", "prod:guard"}, "prod:guard:"},
    {{"store", "prod"}, {"--key-prefix", "prodguard"}, "prodguard:"},
};

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// Both sides use exactly `key`, and each is kept out by the other.
void check_exclusion(const std::string& guard, const Slot& slot,
                     const std::vector<std::string>& options, const std::string& key) {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto lock = [&](const std::vector<std::string>& words) {
        return sandbox_lock(redis.url(), joined(options, words));
    };
    const auto inside = harness.enter(guard, slot.scope, slot.value);
    CHECK(is_uuid(token_in(redis, key)));
    CHECK(lock({"-n", "-q", slot.argument, "--", "true"}).wait() == 75);
    harness.leave(inside);

    auto holder = lock({"-n", slot.argument, "--", "sh", "-c",
                        "printf '%s\\n' \"$SANDBOX_LOCK_KEY\"; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == key + "\n"; }));
    const auto outside = harness.begin(guard, slot.scope, slot.value);
    REQUIRE(sees_tries(redis, 1));
    CHECK_FALSE(harness.has_said("entered", outside));
    holder.signal(SIGTERM);
    CHECK(holder.wait() == 143);
    REQUIRE(harness.says("entered", outside));
    harness.leave(outside);
}

}  // namespace

TEST_CASE("scopes and values: both sides build the same store key") {
    for (const auto& slot : slots) {
        CAPTURE(slot.argument);
        check_exclusion("quick", slot, {}, "agentscope:sandbox:lock:" + slot.key);
    }
}

TEST_CASE("prefixes: of the builder and of RedisDistributedStore, the default and others") {
    const Slot slot{"AGENT", "code-agent", "agent:code-agent", "agent:code-agent"};
    for (const auto& prefix : prefixes) {
        const std::string guard = "of " + prefix.prefix;
        auto line = prefix.guard;
        line.insert(line.begin() + 1, guard);
        shared_harness().tell(line);
        CAPTURE(prefix.prefix);
        check_exclusion(guard, slot, prefix.options, prefix.prefix + slot.key);
    }
}

TEST_CASE("guards of the builder and of RedisDistributedStore do not share their slots") {
    auto& redis = shared_redis();
    const auto& harness = shared_harness();
    const auto id = harness.enter("store", "AGENT", "apart");
    CHECK(sandbox_lock(redis.url(), {"-n", "agent:apart", "--", "true"}).wait() == 0);
    harness.leave(id);
}
