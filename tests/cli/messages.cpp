#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);)
        lines.push_back(nlohmann::json::parse(line));
    return lines;
}

}  // namespace

TEST_CASE("nothing is printed when all goes well; -v tells how long the wait and the hold took") {
    auto& redis = shared_redis();
    auto quiet = sandbox_lock(redis.unix_url(), {"agent:words", "--", "true"});
    CHECK(quiet.wait() == 0);
    CHECK(quiet.err().empty());
    auto verbose = sandbox_lock(redis.unix_url(), {"-v", "agent:words", "--", "true"});
    CHECK(verbose.wait() == 0);
    CHECK(verbose.err().find("sandbox-lock: agent:words: entered after ") == 0);
    CHECK(verbose.err().find("released after ") != std::string::npos);
}

TEST_CASE("who waits reads who holds; -q says nothing but errors") {
    auto& redis = shared_redis();
    auto holder = sandbox_lock(redis.unix_url(),
                               {"--label", "nightly build", "agent:held", "--", "sleep", "1000"});
    REQUIRE(eventually([&] { return redis.command({"EXISTS", key_of("agent:held")}) == "1"; }));
    auto waiter = sandbox_lock(redis.unix_url(), {"-w", "0.1", "agent:held", "--", "true"});
    CHECK(waiter.wait() == 75);
    CHECK(waiter.err().find("waiting: held by nightly build (") != std::string::npos);
    CHECK(waiter.err().find("pid " + std::to_string(holder.pid())) != std::string::npos);
    auto quiet = sandbox_lock(redis.unix_url(), {"-q", "-w", "0.1", "agent:held", "--", "true"});
    CHECK(quiet.wait() == 75);
    CHECK(quiet.err().find("waiting") == std::string::npos);
    CHECK(quiet.err().find("not acquired") != std::string::npos);
    holder.signal(SIGTERM);
    holder.wait();
}

TEST_CASE("--log-format json gives one object a line with the same facts") {
    auto& redis = shared_redis();
    auto run =
        sandbox_lock(redis.unix_url(), {"-v", "--log-format", "json", "agent:a b\n", "--", "true"});
    CHECK(run.wait() == 0);
    const auto lines = json_lines(run.err());
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["event"] == "entered");
    CHECK(lines[0]["level"] == "detail");
    CHECK(lines[0]["slot"] == "agent:a b\n");
    CHECK(lines[0]["key"] == key_of("agent:a b\n"));
    CHECK(lines[0]["waited_seconds"].is_number());
    CHECK(lines[0]["fence"].is_number_integer());
    CHECK(lines[1]["event"] == "released");
    CHECK(lines[1]["held_seconds"].is_number());

    auto bad =
        sandbox_lock("redis://127.0.0.1:1", {"--log-format", "json", "agent:x", "--", "true"});
    CHECK(bad.wait() == 69);
    REQUIRE(json_lines(bad.err()).size() == 1);
    CHECK(json_lines(bad.err())[0]["event"] == "store-unreachable");
}

TEST_CASE("a holder's token cannot forge a line") {
    auto& redis = shared_redis();
    redis.command(
        {"SET", key_of("agent:forged"), "x\nsandbox-lock: all is well\x1b[2J", "PX", "60000"});
    auto run = sandbox_lock(redis.unix_url(), {"-n", "agent:forged", "--", "true"});
    CHECK(run.wait() == 75);
    CHECK(std::ranges::count(run.err(), '\n') == 1);
    CHECK(run.err().find('\x1b') == std::string::npos);
    redis.command({"DEL", key_of("agent:forged")});
}

TEST_CASE("a key of another type is waited for and named as what it is") {
    auto& redis = shared_redis();
    redis.command({"RPUSH", key_of("agent:list"), "x"});
    auto run = sandbox_lock(redis.unix_url(), {"-n", "agent:list", "--", "true"});
    CHECK(run.wait() == 75);
    CHECK(run.err().find("a value that is no lock") != std::string::npos);
    CHECK(redis.command({"TYPE", key_of("agent:list")}) == "list");
    redis.command({"DEL", key_of("agent:list")});
}

TEST_CASE("without renewal a long hold is warned about, with the figure to raise the ttl to") {
    auto& redis = shared_redis();
    auto run = sandbox_lock(redis.unix_url(), {"--no-renew", "--lease-ttl", "2s", "--kill-after",
                                               "0", "agent:long", "--", "sleep", "1.65"});
    CHECK(run.wait() == 0);
    CHECK(run.err().find("raise --lease-ttl to 4s") != std::string::npos);
}
