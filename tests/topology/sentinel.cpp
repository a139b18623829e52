// A store that sentinels watch over: real ones, with real failovers.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/listening_socket.hpp"
#include "support/redis_server.hpp"
#include "support/sentinels.hpp"
#include "topology/runs.hpp"

using namespace support;
using topology::says;
using topology::Slot;
using Loss = Sentinels::Loss;

namespace {

/// Those with passwords of their own, for servers and for sentinels.
const std::string server_password = "servers-hunter2";
const std::string sentinel_password = "sentinels-hunter2";

Sentinels& guarded_sentinels() {
    static Sentinels sentinels({server_password, sentinel_password});
    sentinels.heal();
    return sentinels;
}

std::string url_of(const std::vector<std::string>& ports, const std::string& path = "main") {
    std::string hosts;
    for (const auto& port : ports) hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + port;
    return "redis+sentinel://" + hosts + "/" + path;
}

/// A file of that name that has the password.
std::string password_file(const TempDir& dir, const std::string& name,
                          const std::string& password) {
    const auto file = dir / name;
    write_file(file, password + "\n");
    chmod(file.c_str(), 0600);
    return file;
}

/// Loses the primary while one holds and others wait.
void check_failover(Sentinels& sentinels, Loss loss, const Slot& slot) {
    auto holder = slot.lasting("holder");
    REQUIRE(slot.enters("holder"));
    auto waiters = slot.line_up({"first", "second", "third"}, sentinels.primary());
    auto& lost = sentinels.lose_primary(loss);
    sentinels.wait_for_another(lost);
    auto& primary = sentinels.primary();
    CHECK(eventually([&] { return slot.left_at(primary) > 9000; }));  // renewed there
    // What the old one was told to write it may do now.
    if (loss == Loss::stopped || loss == Loss::cut_off) sentinels.heal();
    CHECK(slot.runs() == "holder");
    slot.end("holder");
    CHECK(holder.wait() == 0);
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
    CHECK(slot.runs() == "holder first second third");
}

}  // namespace

TEST_CASE("a failover while one holds and others wait: all go on, in their order") {
    auto& sentinels = shared_sentinels();
    const Slot slot("agent:failover", sentinels.url(), {"--lease-ttl", "10s"});
    SUBCASE("the primary is killed") {
        check_failover(sentinels, Loss::killed, slot);
    }
    SUBCASE("the primary hangs, and wakes up later") {
        check_failover(sentinels, Loss::stopped, slot);
    }
    SUBCASE("the primary is retired") {
        check_failover(sentinels, Loss::retired, slot);
    }
}

TEST_CASE("--min-replicas: nobody stays with a primary that others take for dead") {
    auto& sentinels = guarded_sentinels();
    const TempDir dir;
    const Slot slot("agent:split", sentinels.url(":" + server_password),
                    {"--lease-ttl", "10s", "--min-replicas", "1", "--sentinel-password-file",
                     password_file(dir, "sentinels", sentinel_password)});
    check_failover(sentinels, Loss::cut_off, slot);
}

TEST_CASE("sentinels are asked in turn: those that are dead, silent or none are passed over") {
    auto& sentinels = shared_sentinels();
    const ListeningSocket silent;
    Slot slot("agent:in-turn", url_of({free_port(), silent.port, shared_redis().port(),
                                       sentinels.sentinel(0).port()}));
    auto run = slot.brief("run");
    CHECK(run.wait() == 0);
    CHECK(slot.runs() == "run");
    CHECK(run.err().empty());
}

TEST_CASE("where no sentinel helps, the status and the message say why") {
    auto& sentinels = shared_sentinels();
    const auto fails = [&](const std::string& url, int status) {
        auto run = Slot("agent:fault", url, {"--connect-timeout", "1s"}).start({}, {"true"});
        CHECK(run.wait() == status);
        CAPTURE(run.err());
        return run.err();
    };
    const auto one = sentinels.sentinel(0).port();
    SUBCASE("a name that they do not know") {
        const auto err = fails(url_of({one, sentinels.sentinel(1).port()}, "other-name"), 78);
        CHECK(says(err, "'other-name'"));
    }
    SUBCASE("they are all dead") {
        const auto port = free_port();
        const auto err = fails(url_of({free_port(), port}), 69);
        CHECK(says(err, "refused"));
        CHECK(says(err, port));
    }
    SUBCASE("they are all silent") {
        const ListeningSocket silent;
        CHECK(says(fails(url_of({silent.port}), 69), silent.port));
    }
    SUBCASE("it is no sentinel") {
        CHECK(says(fails(url_of({shared_redis().port()}), 78), "no sentinel"));
    }
    SUBCASE("the URL lacks the name") {
        fails("redis+sentinel://127.0.0.1:" + one, 78);
        fails("redis+sentinel://127.0.0.1:" + one + "/", 78);
    }
    SUBCASE("a user without a password") {
        auto run = Slot("agent:fault", url_of({one})).start({"--sentinel-user", "me"}, {"true"});
        CHECK(run.wait() == 78);
    }
}

TEST_CASE("the path's second part is the database") {
    auto& sentinels = shared_sentinels();
    Slot slot("agent:database", sentinels.url() + "/3");
    auto holder = slot.lasting("holder");
    REQUIRE(slot.enters("holder"));
    CHECK(says(sentinels.primary().command({"INFO", "keyspace"}).value_or(""), "db3:keys="));
    CHECK(slot.left_at(sentinels.primary()) <= 0);
    slot.end("holder");
    CHECK(holder.wait() == 0);
}

TEST_CASE("sentinels and servers have logins apart") {
    auto& sentinels = guarded_sentinels();
    const TempDir dir;
    const auto url = sentinels.url(":" + server_password);
    const auto right = password_file(dir, "right", sentinel_password);
    const auto wrong = password_file(dir, "wrong", "wrong-hunter2");
    for (int i = 0; i < 3; ++i)
        REQUIRE(sentinels.sentinel(static_cast<std::size_t>(i))
                    .command({"ACL", "SETUSER", "asker", "reset", "on", ">askers-hunter2",
                              "+sentinel|get-master-addr-by-name", "+sentinel|master", "+auth",
                              "+hello", "+ping"}) == "OK");
    const auto askers = password_file(dir, "askers", "askers-hunter2");
    const auto run = [&](const std::string& store, const std::vector<std::string>& options,
                         const std::vector<std::string>& environment = {}) {
        auto words = options;
        words.insert(words.end(), {"-v", "agent:logins", "--", "echo", "in"});
        auto process = sandbox_lock(store, words, {.environment = environment});
        const int status = process.wait();
        return std::pair{status, process.err()};
    };

    CHECK(run(url, {"--sentinel-password-file", right}).first == 0);
    CHECK(run(url, {}, {"SANDBOX_LOCK_SENTINEL_PASSWORD_FILE=" + right}).first == 0);
    CHECK(run(url, {}, {"SANDBOX_LOCK_SENTINEL_AUTH=" + sentinel_password}).first == 0);
    CHECK(run(url, {"--sentinel-user", "asker", "--sentinel-password-file", askers}).first == 0);
    CHECK(run(url, {},
              {"SANDBOX_LOCK_SENTINEL_USER=asker", "SANDBOX_LOCK_SENTINEL_AUTH=askers-hunter2"})
              .first == 0);
    CHECK(run(sentinels.url(), {"--sentinel-password-file", right, "--password-file",
                                password_file(dir, "servers", server_password)})
              .first == 0);

    const auto denied = [&](const std::string& who, const std::string& store,
                            const std::vector<std::string>& options) {
        const auto [status, err] = run(store, options);
        CAPTURE(err);
        CHECK(status == 77);
        CHECK(says(err, who + " 127.0.0.1:"));
    };
    denied("sentinel", url, {});
    denied("sentinel", url, {"--sentinel-password-file", wrong});
    denied("sentinel", url, {"--sentinel-user", "nobody", "--sentinel-password-file", right});
    denied("server", sentinels.url(), {"--sentinel-password-file", right});
    denied("server", sentinels.url(":wrong-hunter2"), {"--sentinel-password-file", right});
}

TEST_CASE("a sentinel that names a replica, as before a failover, is passed over") {
    auto& sentinels = guarded_sentinels();
    const auto replica = sentinels.replicas().front()->port();
    // Without the servers' password it learns nothing, and the others do not learn of it.
    RedisNode stale({.options = {"--sentinel"},
                     .config = "sentinel monitor main 127.0.0.1 " + replica + " 2\nrequirepass " +
                               sentinel_password + "\n",
                     .password = sentinel_password});
    const std::vector<std::string> environment{"SANDBOX_LOCK_SENTINEL_AUTH=" + sentinel_password,
                                               "REDISCLI_AUTH=" + server_password};
    auto run = sandbox_lock(url_of({stale.port(), sentinels.sentinel(1).port()}),
                            {"agent:stale", "--", "echo", "in"}, {.environment = environment});
    CHECK(run.wait() == 0);
    CHECK(run.out() == "in\n");

    auto alone = sandbox_lock(url_of({stale.port()}),
                              {"--connect-timeout", "1s", "agent:stale", "--", "true"},
                              {.environment = environment});
    CHECK(alone.wait() == 69);
    CHECK(says(alone.err(), replica));
    CHECK(says(alone.err(), "slave"));
}

TEST_CASE("status and break look where the sentinels lead") {
    auto& sentinels = shared_sentinels();
    Slot slot("agent:looked-at", sentinels.url(), {"--lease-ttl", "2s", "--label", "what-it-is"});
    auto holder = slot.endless();
    auto all = sandbox_lock(slot.url, {"status"});
    CHECK(all.wait() == 0);
    CHECK(says(all.out(), "agent:looked-at"));
    CHECK(says(slot.status(), "what-it-is"));
    CHECK(slot.break_from(holder) == 0);
    CHECK(holder.wait() == 79);
}

TEST_CASE("contenders through failovers: no overlap, all run, none is ended by the outage") {
    // For by hand: 50 contenders through 5 failovers.
    const bool is_long = std::getenv("SANDBOX_LOCK_LONG_TESTS") != nullptr;
    const std::size_t count = is_long ? 50 : 12;
    const std::size_t failovers = is_long ? 5 : 1;
    auto& sentinels = shared_sentinels();
    Slot slot("agent:crowd", sentinels.url(), {"--min-replicas", "1"});
    std::vector<Process> contenders;
    for (std::size_t i = 0; i < count; ++i)
        contenders.push_back(slot.brief(std::to_string(i), is_long ? "1" : "0.3"));
    const auto finished = [&] {
        return static_cast<std::size_t>(
            std::ranges::count_if(contenders, [](auto& contender) { return contender.ended(); }));
    };
    constexpr std::array losses{Loss::killed, Loss::stopped, Loss::retired};
    for (std::size_t i = 0; i < failovers; ++i) {
        const auto some = (i + 1) * count / (failovers + 2);
        REQUIRE(eventually([&] { return finished() >= some; }, 60s));
        CHECK(finished() < count);
        auto& lost = sentinels.lose_primary(losses.at(i % losses.size()));
        sentinels.wait_for_another(lost);
        sentinels.heal();
    }
    for (auto& contender : contenders) {
        CHECK(contender.wait(120s) == 0);
        CAPTURE(contender.err());
        CHECK_FALSE(says(contender.err(), "lost"));
    }
    (void)slot.runs();
    CHECK(slot.ended_runs() == count);
}
