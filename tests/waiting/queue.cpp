// Waiting on Redis, from outside: who gets in when, what wakes a waiter, and what that costs.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"
#include "support/tls_server.hpp"

using namespace support;

namespace {

std::string queue_of(const std::string& slot) {
    return "{" + key_of(slot) + "}:queue";
}

/// A slot on a server, and the processes that want it.
class Slot {
public:
    Slot(RedisServer& redis, std::string name, std::string url = {})
        : redis_(redis), name_(std::move(name)), url_(url.empty() ? redis.unix_url() : url) {}

    /// Holds it for another client: in plain words of Redis.
    void take(const std::string& milliseconds = "600000") const {
        redis_.command({"SET", key_of(name_), "foreign", "PX", milliseconds});
    }
    void free() const {
        // This is one client for all; the mixed fleet has a test of its own.
        redis_.command({"DEL", "{" + key_of(name_) + "}:mixed"});
        redis_.command({"DEL", key_of(name_)});
    }
    [[nodiscard]] Process start(std::vector<std::string> options,
                                const std::vector<std::string>& command) const {
        options.insert(options.end(), {name_, "--"});
        options.insert(options.end(), command.begin(), command.end());
        return sandbox_lock(url_, options);
    }
    /// One that writes `word` to the log when it is in.
    [[nodiscard]] Process waiter(const std::string& word,
                                 const std::vector<std::string>& options = {}) const {
        return start(options, {"sh", "-c", "echo " + word + " >> " + log()});
    }
    [[nodiscard]] long waiting() const {
        return std::stol(redis_.command({"ZCARD", queue_of(name_)}).value_or("0"));
    }
    /// Starts waiters one by one, each when the last one is in the queue.
    [[nodiscard]] std::vector<Process> line_up(int count, const std::vector<std::string>& options) {
        std::vector<Process> waiters;
        for (int i = 0; i < count; ++i) {
            waiters.push_back(waiter(std::to_string(i), options));
            REQUIRE(eventually([&] { return waiting() == i + 1; }));
        }
        return waiters;
    }
    [[nodiscard]] std::string log() const { return dir_ / "log"; }
    [[nodiscard]] std::vector<int> entered() const {
        std::istringstream lines{read_file(log())};
        std::vector<int> numbers;
        for (int number = 0; lines >> number;) numbers.push_back(number);
        return numbers;
    }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    RedisServer& redis_;
    std::string name_;
    std::string url_;
    TempDir dir_;
};

const std::vector<std::string> by_messages_alone{"-q", "--retry-interval", "1h"};

long calls_of(const RedisServer& redis, const std::string& command) {
    const auto stats = redis.command({"INFO", "commandstats"}).value_or("");
    const auto find = [&](const std::string& name) {
        return stats.find("cmdstat_" + name + ":calls=");
    };
    // Redis 6 does not count subcommands apart.
    const auto at = std::min(find(command), find(command.substr(0, command.find('|'))));
    return at == stats.npos ? 0 : std::stol(stats.substr(stats.find('=', at) + 1));
}

/// What clients have sent to let others in, or to wait; not what scripts call on their behalf.
long commands_of_waiters(const RedisServer& redis) {
    long sum = 0;
    for (const char* command : {"evalsha", "eval", "hello", "subscribe", "client|tracking"})
        sum += calls_of(redis, command);
    return sum;
}

}  // namespace

TEST_CASE("waiters enter in the order of their arrival") {
    Slot slot(shared_redis(), "agent:order");
    slot.take();
    auto waiters = slot.line_up(30, by_messages_alone);
    slot.free();
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
    const auto entered = slot.entered();
    CHECK(entered.size() == 30);
    CHECK(std::ranges::is_sorted(entered));
    CHECK(slot.waiting() == 0);
}

TEST_CASE("the same by TLS: each is woken by a message alone, and at once") {
    auto& server = shared_tls_server();
    Slot slot(server.redis, "agent:order", server.url("127.0.0.1"));
    slot.take();
    auto options = by_messages_alone;
    options.insert(options.end(), {"--cacert", server.authority.cert()});
    auto waiters = slot.line_up(5, options);
    const Stopwatch watch;
    slot.free();
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
    CHECK(watch.seconds() < 2);
    CHECK(slot.entered() == std::vector<int>{0, 1, 2, 3, 4});
    CHECK(slot.waiting() == 0);
}

TEST_CASE("waiters that are killed are skipped at once, and the others keep their order") {
    Slot slot(shared_redis(), "agent:killed-waiters");
    slot.take();
    auto waiters = slot.line_up(20, by_messages_alone);
    std::minstd_rand random{20261129};
    std::vector<int> numbers(20);
    for (int i = 0; i < 20; ++i) numbers[static_cast<std::size_t>(i)] = i;
    std::ranges::shuffle(numbers, random);
    numbers.resize(7);
    numbers.push_back(0);  // also the one that is next
    for (const int number : numbers) waiters[static_cast<std::size_t>(number)].signal(SIGKILL);
    for (const int number : numbers) (void)waiters[static_cast<std::size_t>(number)].wait();
    const Stopwatch watch;
    slot.free();
    std::vector<int> expected;
    for (int i = 0; i < 20; ++i)
        if (std::ranges::find(numbers, i) == numbers.end()) {
            CHECK(waiters[static_cast<std::size_t>(i)].wait() == 0);
            expected.push_back(i);
        }
    CHECK(slot.entered() == expected);
    CHECK(watch.seconds() < 10);  // not so long for each of them
    CHECK(eventually([&] { return slot.waiting() == 0; }));
}

TEST_CASE("a waiter that hangs when it is its turn is overtaken after a second or two") {
    Slot slot(shared_redis(), "agent:hangs");
    slot.take();
    auto waiters = slot.line_up(2, by_messages_alone);
    waiters[0].signal(SIGSTOP);
    REQUIRE(eventually([&] { return state_of(waiters[0].pid()) == 'T'; }));
    SUBCASE("after a release by a client that does not know the queue") {
        slot.free();
    }
    SUBCASE("after an expiry") {
        slot.take("1");
        slot.free();
    }
    const Stopwatch watch;
    CHECK(waiters[1].wait() == 0);
    CHECK(watch.seconds() < 4);
    waiters[0].signal(SIGCONT);
    CHECK(waiters[0].wait() == 0);
    CHECK(slot.entered() == std::vector<int>{1, 0});
}

TEST_CASE("a waiter that hangs does not hold up the queue after a release of ours either") {
    Slot slot(shared_redis(), "agent:hangs-too");
    auto holder = slot.start({}, {"sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    auto waiters = slot.line_up(3, by_messages_alone);
    waiters[0].signal(SIGSTOP);
    REQUIRE(eventually([&] { return state_of(waiters[0].pid()) == 'T'; }));
    const Stopwatch watch;
    holder.signal(SIGTERM);
    CHECK(waiters[1].wait() == 0);
    CHECK(watch.seconds() < 4);
    CHECK(waiters[2].wait() == 0);
    waiters[0].signal(SIGCONT);
    CHECK(waiters[0].wait() == 0);
}

TEST_CASE("a plain DEL and an expiry wake the first in the queue by themselves") {
    auto& redis = shared_redis();
    Slot slot(redis, "agent:woken");
    slot.take();
    auto waiters = slot.line_up(1, by_messages_alone);
    const Stopwatch watch;
    SUBCASE("DEL") {
        slot.free();
    }
    SUBCASE("expiry") {
        redis.command({"PEXPIRE", key_of(slot.name()), "100"});
    }
    CHECK(waiters[0].wait() == 0);
    CHECK(watch.seconds() < 2);
}

TEST_CASE("-n does not jump the queue") {
    auto& redis = shared_redis();
    Slot slot(redis, "agent:no-jump");
    const auto stem = "{" + key_of(slot.name()) + "}:";
    // A waiter that polls and counts as present until long after this.
    redis.command({"ZADD", stem + "queue", "1", "p-somebody"});
    redis.command({"ZADD", stem + "presence", "9000000000000000", "p-somebody"});
    auto refused = slot.start({"-n"}, {"echo", "ran"});
    CHECK(refused.wait() == 75);
    CHECK(refused.out().empty());
    CHECK(refused.err().find("others wait for it") != std::string::npos);
    CHECK(slot.waiting() == 1);
    redis.command({"DEL", stem + "queue", stem + "presence"});
    CHECK(slot.start({"-n"}, {"true"}).wait() == 0);
}

TEST_CASE("to leave the queue is one request, on a signal and when the time is over") {
    RedisServer redis;
    Slot slot(redis, "agent:leave");
    CHECK(slot.start({}, {"true"}).wait() == 0);  // the server knows the scripts from now on
    slot.take();
    auto stays = slot.waiter("stays", by_messages_alone);
    REQUIRE(eventually([&] { return slot.waiting() == 1; }));
    SUBCASE("signal") {
        auto leaves = slot.waiter("leaves", by_messages_alone);
        REQUIRE(eventually([&] { return slot.waiting() == 2; }));
        // It may have come near the head and still be about to look.
        long before = -1;
        REQUIRE(eventually([&] {
            const long last = std::exchange(before, commands_of_waiters(redis));
            return last == before && calls_of(redis, "client|tracking") == 2;
        }));
        leaves.signal(SIGTERM);
        CHECK(leaves.wait() == 143);
        CHECK(commands_of_waiters(redis) <= before + 1);
    }
    SUBCASE("time") {
        auto leaves = slot.waiter("leaves", {"-w", "0.3"});
        CHECK(leaves.wait() == 75);
    }
    CHECK(slot.waiting() == 1);
    slot.free();
    CHECK(stays.wait() == 0);
}

TEST_CASE("whoever leaves when it is its turn wakes the next one") {
    auto& redis = shared_redis();
    Slot slot(redis, "agent:declines");
    slot.take();
    auto waiters = slot.line_up(2, by_messages_alone);
    waiters[0].signal(SIGSTOP);
    REQUIRE(eventually([&] { return state_of(waiters[0].pid()) == 'T'; }));
    slot.free();
    waiters[0].signal(SIGTERM);
    waiters[0].signal(SIGCONT);
    CHECK(waiters[1].wait() == 0);
    (void)waiters[0].wait();
}

TEST_CASE("the order survives connections that break, and a server that loses the queue") {
    RedisServer redis;
    Slot slot(redis, "agent:reconnect");
    slot.take();
    auto waiters = slot.line_up(5, {"-q"});
    SUBCASE("connections") {
        redis.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    }
    SUBCASE("queue") {
        redis.command({"DEL", queue_of(slot.name()), "{" + key_of(slot.name()) + "}:presence"});
        redis.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    }
    // All of them listen again: who is not there when the slot is freed is passed over.
    REQUIRE(
        eventually([&] { return slot.waiting() == 5 && calls_of(redis, "subscribe") == 2 * 5; }));
    slot.free();
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
    CHECK(slot.entered() == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE(
    "without the rights to messages or to tracking all works, only slower, and is told once") {
    RedisServer redis;
    const std::vector<std::string> rights{"on", ">hunter2", "~*", "resetchannels", "+@all"};
    auto user = rights;
    std::string lacks;
    SUBCASE("no channel") {
        lacks = "SUBSCRIBE";
    }
    SUBCASE("no HELLO") {
        user.emplace_back("-hello");
        lacks = "HELLO 3";
    }
    SUBCASE("no CLIENT TRACKING") {
        user.emplace_back("&*");
        user.emplace_back("-client");
        lacks = "CLIENT TRACKING";
    }
    SUBCASE("no PUBLISH") {
        user.emplace_back("&*");
        user.emplace_back("-publish");
    }
    user.insert(user.begin(), {"ACL", "SETUSER", "few"});
    REQUIRE(redis.command(user) == "OK");
    Slot slot(redis, "agent:few-rights", "redis+unix://few:hunter2@" + redis.socket());
    slot.take();
    auto waiters = slot.line_up(4, {"-v", "--retry-interval", "100ms"});
    slot.free();
    for (auto& waiter : waiters) {
        CHECK(waiter.wait() == 0);
        const auto err = waiter.err();
        if (lacks.empty()) continue;
        const auto told = err.find("polling at the retry interval");
        CHECK(told == err.rfind("polling at the retry interval"));
        if (&waiter == &waiters.front()) CHECK(err.find(lacks) != std::string::npos);
    }
    CHECK(slot.entered() == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("a hand-over takes few commands, however many wait, and an idle waiter hardly any") {
    RedisServer redis;
    std::map<int, double> per_entry;
    for (const int count : {10, 60}) {
        Slot slot(redis, "agent:cost-" + std::to_string(count));
        slot.take();
        std::vector<Process> waiters;
        for (int i = 0; i < count; ++i) waiters.push_back(slot.waiter("1", {"-q"}));
        REQUIRE(eventually([&] { return slot.waiting() == count; }, 60s));
        REQUIRE(eventually([&] { return calls_of(redis, "client|tracking") >= 2; }));
        const long before = commands_of_waiters(redis);
        slot.free();
        for (auto& waiter : waiters) CHECK(waiter.wait(60s) == 0);
        per_entry[count] = static_cast<double>(commands_of_waiters(redis) - before) / count;
        CHECK(slot.entered().size() == static_cast<std::size_t>(count));
    }
    MESSAGE("commands per hand-over: " << per_entry[10] << " with 10, " << per_entry[60]
                                       << " with 60 waiters");
    CHECK(per_entry[10] <= 8);
    CHECK(per_entry[60] <= 8);
}

TEST_CASE("idle waiters send at most one command in four seconds, the first apart") {
    RedisServer redis;
    Slot slot(redis, "agent:idle");
    slot.take();
    constexpr int count = 20;
    std::vector<Process> waiters;
    for (int i = 0; i < count; ++i) waiters.push_back(slot.waiter("1", {"-q"}));
    REQUIRE(eventually([&] { return slot.waiting() == count; }, 60s));
    REQUIRE(eventually([&] { return calls_of(redis, "client|tracking") >= 2; }));
    const Stopwatch watch;
    const long before = commands_of_waiters(redis);
    CHECK_FALSE(eventually([] { return false; }, 6s));  // the span that is measured
    const double seconds = watch.seconds();
    const auto sent = static_cast<double>(commands_of_waiters(redis) - before);
    // The first tries twice a second.
    CHECK(sent <= seconds * (count * 0.25 + 2.3) + 3);
    slot.free();
    for (auto& waiter : waiters) CHECK(waiter.wait(60s) == 0);
}

TEST_CASE("the queue of waiters that vanished disappears by itself") {
    auto& redis = shared_redis();
    Slot slot(redis, "agent:vanished");
    slot.take();
    auto waiters = slot.line_up(2, {"-q"});
    for (auto& waiter : waiters) waiter.signal(SIGKILL);
    for (auto& waiter : waiters) (void)waiter.wait();
    for (const char* key : {"queue", "presence"}) {
        const auto left =
            std::stol(*redis.command({"PTTL", "{" + key_of(slot.name()) + "}:" + key}));
        CHECK(left > 0);
        CHECK(left <= 60000);
    }
    slot.free();
    // As soon as the server has noticed that their connections are gone.
    CHECK(eventually([&] { return slot.start({"-n"}, {"true"}).wait() == 0; }));
    CHECK(slot.waiting() == 0);
}

TEST_CASE("in a mixed fleet both those who poll and those in the queue make progress") {
    auto& redis = shared_redis();
    Slot slot(redis, "agent:mixed");
    const TempDir dir;
    const std::string mark = "{" + key_of(slot.name()) + "}:mixed";
    // SET NX PX, as the Java harness does it; answers what those in the queue know of it just then.
    const auto poll = [&] {
        return redis.command({"EVAL",
                              "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 30000) and "
                              "(redis.call('GET', KEYS[2]) or 'nothing')",
                              "2", key_of(slot.name()), mark,
                              "0b8a7e1c-0000-4000-8000-000000000000"});
    };
    REQUIRE(poll() == "nothing");
    std::vector<Process> ours;
    for (int i = 0; i < 3; ++i)
        ours.push_back(Process({"sh", "-c",
                                "until [ -e " + (dir / "stop") + " ]; do " + program_path() +
                                    " -q -w 60 " + slot.name() + " -- sh -c 'echo 1 >> " +
                                    slot.log() + "; sleep 0.1' || exit 1; done"},
                               {.environment = clean_environment(redis.unix_url())}));
    for (int round = 0; round < 3; ++round) {
        // That there are others is learned from one that holds the slot.
        REQUIRE(eventually([&] { return redis.command({"GET", mark}) == "other"; }));
        const auto entered = slot.entered().size();
        redis.command({"DEL", key_of(slot.name())});
        // By chance it may also find the slot free between two of the others.
        require_soon("left to those who poll", [&] {
            const auto found = poll();
            const bool left_open = found && found->starts_with("open:");
            if (found && !left_open) redis.command({"DEL", key_of(slot.name())});
            return left_open;
        });
        CHECK(slot.entered().size() > entered);
    }
    slot.free();
    write_file(dir / "stop", "");
    for (auto& process : ours) CHECK(process.wait(60s) == 0);
}

TEST_CASE("a waiting process has less than 6 MiB of memory of its own") {
#ifdef __SANITIZE_ADDRESS__
    MESSAGE("skipped: AddressSanitizer takes far more");
    return;
#endif
    auto& redis = shared_redis();
    Slot slot(redis, "agent:memory");
    slot.take();
    auto waiters = slot.line_up(3, {"-q"});
    for (auto& waiter : waiters) {
        long kib = 0;
        auto pids = children_of(waiter.pid());
        pids.push_back(waiter.pid());
        for (const pid_t pid : pids) {
            const auto rollup = read_file("/proc/" + std::to_string(pid) + "/smaps_rollup");
            const auto at = rollup.find("\nPss:");
            REQUIRE(at != rollup.npos);
            kib += std::stol(rollup.substr(at + 5));
        }
        CHECK(kib < 6 * 1024);
    }
    slot.free();
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
}
