// --min-replicas: nothing runs that the next master might know nothing of.
#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/redis_server.hpp"
#include "support/sentinels.hpp"
#include "topology/runs.hpp"

using namespace support;
using topology::says;
using topology::Slot;

namespace {

/// Replicas that hang, and go on with the object.
class Hanging {
public:
    explicit Hanging(std::vector<RedisNode*> nodes) : nodes_(std::move(nodes)) {
        for (auto* node : nodes_) node->stop();
    }
    ~Hanging() { end(); }
    Hanging(const Hanging&) = delete;
    Hanging& operator=(const Hanging&) = delete;
    void end() {
        for (auto* node : nodes_)
            if (node->stopped()) node->resume();
    }

private:
    std::vector<RedisNode*> nodes_;
};

std::string url_of(const RedisNode& node) {
    return "redis://127.0.0.1:" + node.port();
}

}  // namespace

TEST_CASE("--min-replicas: the command starts when as many replicas have the entry") {
    auto& sentinels = shared_sentinels();
    const auto& primary = sentinels.primary();
    for (const auto& url : {sentinels.url(), url_of(primary)}) {
        Slot slot("agent:safe", url, {"--min-replicas", "2"});
        auto holder = slot.lasting("holder");
        REQUIRE(slot.enters("holder"));
        for (const auto* replica : sentinels.replicas()) CHECK(slot.left_at(*replica) > 0);
        slot.end("holder");
        CHECK(holder.wait() == 0);
        CHECK(holder.err().empty());
    }
}

TEST_CASE("--min-replicas: too few of them, and the entry is given back") {
    auto& sentinels = shared_sentinels();
    const auto& primary = sentinels.primary();
    const auto replicas = sentinels.replicas();
    Slot slot("agent:unsafe", url_of(primary),
              {"--connect-timeout", "500ms", "--response-timeout", "200ms"});
    SUBCASE("there are not so many") {
        auto run = slot.start({"--min-replicas", "3"}, {"echo", "ran"});
        CHECK(run.wait() == 69);
        CHECK(says(run.err(), "2 of 3 replicas"));
        CHECK(run.out().empty());
    }
    SUBCASE("one hangs") {
        Hanging hanging({replicas[0]});
        auto run = slot.start({"--min-replicas", "2"}, {"echo", "ran"});
        CHECK(run.wait() == 69);
        CHECK(says(run.err(), "1 of 2 replicas"));
        CHECK(run.out().empty());
    }
    SUBCASE("all hang") {
        Hanging hanging(replicas);
        auto run = slot.start({"--min-replicas", "1"}, {"echo", "ran"});
        CHECK(run.wait() == 69);
        CHECK(says(run.err(), "0 of 1 replicas"));
        CHECK(run.out().empty());
    }
    SUBCASE("there are none at all") {
        Slot lonely("agent:unsafe", shared_redis().url(),
                    {"--connect-timeout", "500ms", "--response-timeout", "200ms"});
        auto run = lonely.start({"--min-replicas", "1"}, {"echo", "ran"});
        CHECK(run.wait() == 69);
        CHECK(says(run.err(), "0 of 1 replicas"));
        CHECK(lonely.left_at(shared_redis()) <= 0);
        CHECK(lonely.waiting_at(shared_redis()) == 0);
    }
    CHECK(slot.left_at(primary) <= 0);
    CHECK(slot.waiting_at(primary) == 0);
}

TEST_CASE("--min-replicas: it is tried again while there is time") {
    auto& sentinels = shared_sentinels();
    Hanging hanging(sentinels.replicas());
    Slot slot("agent:safe-later", url_of(sentinels.primary()),
              {"--min-replicas", "1", "--connect-timeout", "20s", "--response-timeout", "300ms"});
    auto run = slot.brief("run");
    CHECK(eventually([&] { return says(run.err(), "0 of 1 replicas"); }));
    CHECK(slot.runs().empty());
    hanging.end();
    CHECK(run.wait() == 0);
    CHECK(slot.runs() == "run");
}

TEST_CASE("--min-replicas: a renewal that no replica has does not count") {
    auto& sentinels = shared_sentinels();
    const auto& primary = sentinels.primary();
    Slot slot("agent:cut-off", sentinels.url(), {"--min-replicas", "1", "--lease-ttl", "3s"});
    auto holder = slot.start({}, {"sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    Hanging hanging(sentinels.replicas());
    SUBCASE("for longer than the ttl") {
        CHECK(holder.wait() == 79);
        CHECK(says(holder.err(), "0 of 1 replicas"));
    }
    SUBCASE("for a moment") {
        CHECK(eventually([&] { return says(holder.err(), "0 of 1 replicas"); }));
        hanging.end();
        CHECK(eventually([&] { return slot.left_at(*sentinels.replicas().front()) > 2000; }));
        CHECK_FALSE(holder.ended());
        holder.signal(SIGTERM);
        CHECK(holder.wait() == 143);
    }
    CHECK(eventually([&] { return slot.left_at(primary) <= 0; }));
}
