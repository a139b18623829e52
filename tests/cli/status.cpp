// `status` and `break`, from outside.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/status.hpp"
#include "guard/owner_card.hpp"
#include "support/program.hpp"
#include "support/pty.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

using namespace support;

namespace {

/// A store and what is done with it.
struct Desk {
    std::string url;

    [[nodiscard]] Process run(const std::vector<std::string>& arguments) const {
        return sandbox_lock(url, arguments);
    }
    [[nodiscard]] Process holder(const std::string& slot,
                                 std::vector<std::string> options = {}) const {
        options.insert(options.end(), {slot, "--", "sh", "-c", "echo in; exec sleep 1000"});
        auto process = run(options);
        REQUIRE(eventually([&] { return process.out() == "in\n"; }));
        return process;
    }
    /// What `status --json` says of one slot.
    [[nodiscard]] nlohmann::json status(const std::string& slot) const {
        auto process = run({"status", "--json", slot});
        REQUIRE(process.wait() == 0);
        return nlohmann::json::parse(process.out()).at("slots").at(0);
    }
    int status_code(const std::string& slot) const {
        auto process = run({"status", "-q", slot});
        const int code = process.wait();
        CHECK(process.out().empty());
        CHECK(process.err().empty());
        return code;
    }
};

store::SlotState state(const std::string& slot, const std::string& label, long long waiters) {
    guard::OwnerCard card{"host", 12, "ci", "2026-11-29T10:00:00Z", label};
    return {key_of(slot), guard::make_token(card), std::chrono::seconds{28}, waiters};
}

constexpr const char* prefix = "agentscope:sandbox:lock:";

}  // namespace

TEST_CASE("the table of slots fits the terminal: columns, or paragraphs where it is narrow") {
    const std::vector<store::SlotState> slots{state("agent:a", "make", 3),
                                              state("user:J\xc3\xbcrgen", "x\x1b[2J", 0),
                                              {key_of("agent:free"), ""}};
    const auto wide = cli::status_table(slots, prefix, 0);
    CHECK(wide.starts_with("SLOT "));
    CHECK(wide.find("make (ci@host, pid 12)") != std::string::npos);
    CHECK(wide.find("\\x1b[2J") != std::string::npos);
    CHECK(wide.find('\x1b') == std::string::npos);
    // The columns stand below each other, also after a letter of two bytes.
    std::vector<std::string> lines;
    for (std::string rest = wide; !rest.empty(); rest.erase(0, rest.find('\n') + 1))
        lines.push_back(rest.substr(0, rest.find('\n')));
    REQUIRE(lines.size() == 4);
    CHECK(lines[2].find("held") == lines[1].find("held") + 1);
    const auto narrow = cli::status_table(slots, prefix, 40);
    CHECK(narrow.find("agent:a: held\n") != std::string::npos);
    CHECK(narrow.find("agent:free: free\n") != std::string::npos);
    CHECK(narrow.find("SLOT") == std::string::npos);
}

TEST_CASE("status tells who holds which slot, for how long, and how many wait") {
    RedisServer redis;
    const Desk desk{redis.unix_url()};
    auto none = desk.run({"status"});
    CHECK(none.wait() == 0);
    CHECK(none.out().find("no slot under") != std::string::npos);

    auto holder = desk.holder("agent:a b", {"--label", "nightly build"});
    auto waiter = desk.run({"-q", "agent:a b", "--", "true"});
    redis.command(
        {"SET", key_of("user:java"), "0b8a7e1c-0000-4000-8000-123456789012", "PX", "100000"});
    redis.command({"SET", "agentscope:sandbox:lock*stranger", "x"});
    redis.command({"RPUSH", key_of("session:list"), "x"});
    REQUIRE(eventually([&] { return desk.status("agent:a b").at("waiters") == 1; }));

    const auto ours = desk.status("agent:a b");
    CHECK(ours.at("state") == "held");
    CHECK(ours.at("key") == key_of("agent:a b"));
    CHECK(ours.at("holder").at("label") == "nightly build");
    CHECK(ours.at("holder").at("pid") == holder.pid());
    CHECK(ours.at("ttl_ms") > 20000);
    CHECK(redis.command({"GET", key_of("agent:a b")}) == ours.at("token").get<std::string>());
    const auto java = desk.status("user:java");
    CHECK(java.at("holder").is_null());
    CHECK(java.at("token") == "0b8a7e1c-0000-4000-8000-123456789012");
    const auto free = desk.status("agent:free");
    CHECK(free.at("state") == "free");
    CHECK(free.at("token").is_null());

    auto all = desk.run({"status"});
    CHECK(all.wait() == 0);
    CHECK(all.out().find("nightly build (") != std::string::npos);
    CHECK(all.out().find("another client (0b8a7e1c...)") != std::string::npos);
    CHECK(all.out().find("session:list") != std::string::npos);
    CHECK(all.out().find("stranger") == std::string::npos);  // the prefix is no pattern
    CHECK(desk.status_code("agent:a b") == 1);
    CHECK(desk.status_code("agent:free") == 0);
    holder.signal(SIGTERM);
    CHECK(waiter.wait() == 0);
    CHECK(desk.status_code("agent:a b") == 0);
}

TEST_CASE("status of file: knows its holders and waiters, flock(1) among them") {
    const TempDir dir;
    const Desk desk{"file:" + dir / "locks"};
    CHECK(desk.status_code("agent:x") == 0);
    CHECK(desk.status("agent:x").at("state") == "free");
    auto holder = desk.holder("agent:x");
    auto waiter = desk.run({"-q", "agent:x", "--", "true"});
    REQUIRE(eventually([&] { return desk.status("agent:x").at("waiters") == 1; }));
    CHECK(desk.status("agent:x").at("holder").at("pid") == holder.pid());
    CHECK(desk.status("agent:x").at("ttl_ms").is_null());
    CHECK(desk.status_code("agent:x") == 1);
    auto all = desk.run({"status"});
    CHECK(all.wait() == 0);
    CHECK(all.out().find("agent:x") != std::string::npos);
    auto refused = desk.run({"break", "--token", "x", "agent:x"});
    CHECK(refused.wait() == 75);
    auto impossible = desk.run(
        {"break", "--token", desk.status("agent:x").at("token").get<std::string>(), "agent:x"});
    CHECK(impossible.wait() == 64);
    CHECK(impossible.err().find("cannot be broken") != std::string::npos);
    holder.signal(SIGTERM);
    CHECK(waiter.wait() == 0);
    CHECK(desk.status_code("agent:x") == 0);
}

TEST_CASE("status of a key that lapses after the end of our clock") {
    auto& redis = shared_redis();
    const Desk desk{redis.unix_url()};
    redis.command({"SET", key_of("agent:ages"), "foreign", "PX", "31557600000000"});  // 1000 years
    CHECK(desk.status("agent:ages").at("ttl_ms") > 8'000'000'000'000);
    redis.command({"DEL", key_of("agent:ages")});
}

TEST_CASE("status --watch goes on until a signal") {
    auto& redis = shared_redis();
    auto watch = sandbox_lock(redis.unix_url(), {"status", "--watch", "agent:watched"});
    REQUIRE(eventually([&] {
        const auto out = watch.out();
        return out.find("agent:watched") != out.rfind("agent:watched");
    }));
    watch.signal(SIGINT);
    CHECK(watch.wait() == 130);
}

TEST_CASE("break: the holder ends its command at its next renewal, and the slot stays closed") {
    auto& redis = shared_redis();
    const Desk desk{redis.unix_url()};
    auto holder = desk.holder("agent:broken", {"--lease-ttl", "3s"});
    const auto token = desk.status("agent:broken").at("token").get<std::string>();
    const auto id = nlohmann::json::parse(token).at("id").get<std::string>();
    auto breaking = desk.run({"break", "--token", id, "agent:broken"});
    CHECK(breaking.wait() == 0);
    CHECK(desk.run({"-n", "agent:broken", "--", "true"}).wait() == 75);
    CHECK(holder.wait() == 79);
    CHECK(holder.err().find("a broken lease") != std::string::npos);
    // It is not set again, and lapses.
    CHECK(eventually([&] { return desk.status_code("agent:broken") == 0; }));
}

TEST_CASE("break --force frees the slot at once, and says what that means") {
    auto& redis = shared_redis();
    const Desk desk{redis.unix_url()};
    redis.command({"SET", key_of("agent:forced"), "0b8a7e1c-0000-4000-8000-123456789012"});
    auto waiter = desk.run({"-q", "--retry-interval", "1h", "agent:forced", "--", "true"});
    REQUIRE(eventually([&] { return desk.status("agent:forced").at("waiters") == 1; }));
    auto breaking = desk.run(
        {"break", "--force", "--token", "0b8a7e1c-0000-4000-8000-123456789012", "agent:forced"});
    CHECK(breaking.wait() == 0);
    CHECK(breaking.err().find("two may overlap") != std::string::npos);
    CHECK(waiter.wait() == 0);
}

TEST_CASE("break --force: a holder that renews ends its command and does not come back") {
    auto& redis = shared_redis();
    const Desk desk{redis.unix_url()};
    auto holder = desk.holder("agent:forced-out", {"--lease-ttl", "3s"});
    const auto token = desk.status("agent:forced-out").at("token").get<std::string>();
    CHECK(desk.run({"break", "--force", "--token", token, "agent:forced-out"}).wait() == 0);
    CHECK(holder.wait() == 79);
    CHECK(holder.err().find("taken away") != std::string::npos);
    CHECK(desk.status_code("agent:forced-out") == 0);
}

TEST_CASE("break never touches a holder other than the one that is meant") {
    auto& redis = shared_redis();
    const Desk desk{redis.unix_url()};
    auto holder = desk.holder("agent:other-holder");
    for (const std::string token : {"", "x", "{", R"({"id":")"}) {
        auto breaking = desk.run({"break", "--token", token, "agent:other-holder"});
        const int status = breaking.wait();
        CHECK((status == 75 || status == 64));
    }
    auto unasked = desk.run({"break", "agent:other-holder"});
    CHECK(unasked.wait() == 64);
    CHECK(unasked.err().find("--token") != std::string::npos);
    CHECK(desk.status("agent:other-holder").at("holder").at("pid") == holder.pid());
    auto free = desk.run({"break", "agent:nobody"});
    CHECK(free.wait() == 0);
    CHECK(free.err().find("nothing to break") != std::string::npos);
}

TEST_CASE("break asks at a terminal, and breaks nobody who came after the question") {
    auto& redis = shared_redis();
    const Desk desk{redis.unix_url()};
    redis.command({"SET", key_of("agent:asked"), "first", "PX", "60000"});
    Pty pty;
    Launch launch;
    launch.terminal = pty.slave();
    auto breaking = sandbox_lock(redis.unix_url(), {"break", "agent:asked"}, launch);
    REQUIRE(pty.shows("[y/N]"));
    CHECK(pty.screen().find("first") != std::string::npos);
    SUBCASE("yes") {
        pty.type("y\n");
        CHECK(breaking.wait() == 0);
        CHECK(redis.command({"GET", key_of("agent:asked")}) != "first");
    }
    SUBCASE("no") {
        pty.type("\n");
        CHECK(breaking.wait() == 1);
        CHECK(redis.command({"GET", key_of("agent:asked")}) == "first");
    }
    SUBCASE("Ctrl-C") {
        pty.type("\x03");
        CHECK(breaking.wait() == 130);
        CHECK(redis.command({"GET", key_of("agent:asked")}) == "first");
    }
    SUBCASE("another one meanwhile") {
        redis.command({"SET", key_of("agent:asked"), "second", "PX", "60000"});
        pty.type("y\n");
        CHECK(breaking.wait() == 75);
        CHECK(redis.command({"GET", key_of("agent:asked")}) == "second");
    }
    redis.command({"DEL", key_of("agent:asked")});
}

TEST_CASE("status and break: wrong command lines and stores that are away") {
    CHECK(sandbox_lock("", {"status", "--nonsense"}).wait() == 64);
    CHECK(sandbox_lock("", {"status", "-q"}).wait() == 64);
    CHECK(sandbox_lock("", {"status", "nonsense"}).wait() == 64);
    CHECK(sandbox_lock("", {"break"}).wait() == 64);
    CHECK(sandbox_lock("", {"break", "agent:x", "agent:y"}).wait() == 64);
    CHECK(sandbox_lock("nonsense", {"status"}).wait() == 78);
    CHECK(sandbox_lock("redis://127.0.0.1:" + free_port(), {"status"}).wait() == 69);
    for (const char* name : {"status", "break"}) {
        auto help = sandbox_lock("", {name, "--help"});
        CHECK(help.wait() == 0);
        CHECK(help.out().find("Usage: sandbox-lock " + std::string(name)) != std::string::npos);
    }
}
