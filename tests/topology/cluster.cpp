// A store that is a cluster: six real nodes, hash slots that move, masters that die.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "support/cluster.hpp"
#include "topology/runs.hpp"

using namespace support;
using topology::says;
using topology::Slot;

namespace {

/// A slot by the URL of a node that does not have it.
Slot slot_of_another(Cluster& cluster, const std::string& name,
                     const std::vector<std::string>& options = {}) {
    return {name, cluster.url(cluster.stranger_to(key_of(name))), options};
}

/// All nodes name the others by a port alone from now on; false where they cannot.
bool hide_hosts(Cluster& cluster, bool hidden) {
    for (std::size_t i = 0; i < 6; ++i)
        if (cluster.node(i).command({"CONFIG", "SET", "cluster-preferred-endpoint-type",
                                     hidden ? "unknown-endpoint" : "ip"}) != "OK")
            return false;
    return true;
}

}  // namespace

TEST_CASE("any node of a cluster leads to the slot, a replica too") {
    auto& cluster = shared_cluster();
    for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        Slot slot("agent:any-node", cluster.url(cluster.node(i)));
        auto holder = slot.lasting("holder");
        REQUIRE(slot.enters("holder"));
        CHECK(slot.left_at(cluster.master_of(slot.key())) > 0);
        auto waiters = slot.line_up({"first", "second"}, cluster.master_of(slot.key()));
        slot.end("holder");
        CHECK(holder.wait() == 0);
        CHECK(holder.err().empty());
        for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
        CHECK(slot.runs() == "holder first second");
    }
}

TEST_CASE("a redirection without a host means the one that gave it") {
    auto& cluster = shared_cluster();
    if (!hide_hosts(cluster, true)) {
        MESSAGE("skipped: this version always names the host");
        return;
    }
    Slot slot = slot_of_another(cluster, "agent:no-host");
    auto run = slot.brief("run");
    CHECK(run.wait() == 0);
    CHECK(run.err().empty());
    CHECK(slot.runs() == "run");
    CHECK(hide_hosts(cluster, false));
}

TEST_CASE("keys with braces: the slot and what belongs to it are in one hash slot") {
    auto& cluster = shared_cluster();
    for (const std::string name :
         {"agent:{tag}rest", "agent:a{tag}", "agent:a}b", "agent:{}", "agent:{", "agent:}{a}",
          "agent:{{a}}", "agent:a{}{b}", "user:J\xc3\xbcrgen {x}"}) {
        CAPTURE(name);
        Slot slot = slot_of_another(cluster, name);
        auto holder = slot.lasting("holder");
        REQUIRE(slot.enters("holder"));
        CHECK(slot.left_at(cluster.master_of(slot.key())) > 0);
        auto waiter = slot.brief("waiter");
        REQUIRE(eventually([&] { return says(waiter.err(), "held by"); }));
        slot.end("holder");
        CHECK(holder.wait() == 0);
        CHECK(waiter.wait() == 0);
        CHECK(slot.runs() == "holder waiter");
    }
}

TEST_CASE("status lists the slots of all masters; status KEY and break go where the slot is") {
    auto& cluster = shared_cluster();
    const auto url = cluster.url(cluster.node(0));
    std::deque<Slot> slots;
    std::vector<Process> holders;
    std::set<const RedisNode*> masters;
    for (int i = 1; i <= 6; ++i) {
        const auto& slot = slots.emplace_back("agent:listed-" + std::to_string(i), url,
                                              std::vector<std::string>{"--lease-ttl", "2s"});
        holders.push_back(slot.endless());
        masters.insert(&cluster.master_of(slot.key()));
    }
    CHECK(masters.size() == 3);
    for (std::size_t i = 0; i < 6; ++i) {
        auto all = sandbox_lock(cluster.url(cluster.node(i)), {"status"});
        CHECK(all.wait() == 0);
        for (const auto& slot : slots) CHECK(says(all.out(), slot.name()));
    }
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(says(slots[i].status(), "held"));
        CHECK(slots[i].break_from(holders[i]) == 0);
        CHECK(holders[i].wait() == 79);
    }
}

TEST_CASE("a hash slot that is stuck half way for longer than the ttl: all of it works") {
    auto& cluster = shared_cluster();
    enum class Moved { nothing, lock, companions, all };
    struct Case {
        Case(Cluster& cluster, Moved moved)
            : slot("agent:stuck-" + std::to_string(static_cast<int>(moved)),
                   cluster.url(cluster.node(0)), {"--lease-ttl", "2s"}),
              move(cluster.move_away(slot.key())),
              holder(slot.lasting("holder")) {
            REQUIRE(slot.enters("holder"));
            waiters = slot.line_up({"waiter"}, move.from);
            move.begin();
            if (moved == Moved::lock || moved == Moved::all) move.move_key(slot.key());
            if (moved == Moved::companions || moved == Moved::all)
                for (const char* companion : {"fence", "queue", "presence"})
                    move.move_key("{" + slot.key() + "}:" + companion);
        }
        Slot slot;
        Cluster::Move move;
        Process holder;
        std::vector<Process> waiters;
    };
    std::deque<Case> cases;
    for (const auto moved : {Moved::nothing, Moved::lock, Moved::companions, Moved::all})
        cases.emplace_back(cluster, moved);
    CHECK_FALSE(eventually([] { return false; }, 3s));  // the span over which they hold

    std::vector<Process> others;
    for (auto& one : cases) others.push_back(one.slot.start({"-n"}, {"true"}));
    for (auto& other : others) CHECK(other.wait() == 75);
    for (auto& one : cases) {
        CAPTURE(one.slot.name());
        CHECK_FALSE(one.holder.ended());
        CHECK(says(one.slot.status(), "held"));
        one.slot.end("holder");
    }
    others.clear();
    for (auto& one : cases) {
        CHECK(one.holder.wait() == 0);
        CHECK(one.waiters.front().wait() == 0);
        others.push_back(one.slot.brief("later"));
    }
    for (auto& other : others) CHECK(other.wait() == 0);

    auto& broken = cases.back();
    auto endless = broken.slot.endless();
    CHECK(broken.slot.break_from(endless) == 0);
    CHECK(endless.wait() == 79);

    others.clear();
    for (auto& one : cases) {
        one.move.finish();
        others.push_back(one.slot.brief("last"));
    }
    for (auto& other : others) CHECK(other.wait() == 0);
    for (auto& one : cases) {
        CHECK(one.slot.runs() == "holder waiter later last");
        CHECK(one.slot.left_at(one.move.to) <= 0);
    }
}

TEST_CASE("contenders while their hash slot moves to and fro: no overlap, all run") {
    auto& cluster = shared_cluster();
    Slot slot("agent:moving-crowd", cluster.url(cluster.node(0)));
    constexpr std::size_t count = 20;
    std::vector<Process> contenders;
    for (std::size_t i = 0; i < count; ++i)
        contenders.push_back(slot.brief(std::to_string(i), "0.1"));
    int moves = 0;
    for (auto& contender : contenders)
        while (!contender.ended()) {
            const auto move = cluster.move_away(slot.key());
            move.begin();
            move.move_keys();
            move.finish();
            ++moves;
            (void)eventually([&] { return contender.ended(); }, 100ms);
        }
    MESSAGE(moves << " moves");
    for (auto& contender : contenders) {
        CAPTURE(contender.err());
        CHECK(contender.wait() == 0);
    }
    (void)slot.runs();
    CHECK(slot.ended_runs() == count);
}

TEST_CASE("the node of the URL is gone, then the slot's master: holder and waiters go on") {
    auto& cluster = shared_cluster();
    const std::string name = "agent:promoted";
    auto& master = cluster.master_of(key_of(name));
    auto* seed = &cluster.stranger_to(key_of(name));
    SUBCASE("a node that has nothing to do with it") {
        seed = &cluster.replica_of(*seed);
    }
    SUBCASE("the master itself") {
        seed = &master;
    }
    Slot slot(name, cluster.url(*seed), {"-v", "--lease-ttl", "10s"});
    auto holder = slot.lasting("holder");
    REQUIRE(slot.enters("holder"));
    // By then it knows the other nodes: it asks for them a moment after its entry.
    REQUIRE(eventually([&] { return says(*master.command({"CLIENT", "LIST"}), "cmd=cluster"); }));
    auto waiters = slot.line_up({"first", "second", "third"}, master);
    if (seed != &master) seed->kill();
    cluster.replace(master);
    auto& successor = cluster.master_of(slot.key());
    CHECK(eventually([&] { return slot.left_at(successor) > 9000; }));  // renewed there
    CHECK(slot.runs() == "holder");
    slot.end("holder");
    CAPTURE(holder.err());
    CHECK(holder.wait() == 0);
    for (auto& waiter : waiters) {
        CAPTURE(waiter.err());
        CHECK(waiter.wait() == 0);
    }
    CHECK(slot.runs() == "holder first second third");
}

TEST_CASE("a hash slot that nobody serves is waited for, as long as a store may be away") {
    auto& cluster = shared_cluster();
    Slot slot("agent:unserved", cluster.url(cluster.node(0)));
    const auto& master = cluster.master_of(slot.key());
    const auto number = *master.command({"CLUSTER", "KEYSLOT", slot.key()});
    auto holder = slot.lasting("holder");
    REQUIRE(slot.enters("holder"));
    auto waiters = slot.line_up({"waiter"}, master);
    REQUIRE(master.command({"CLUSTER", "DELSLOTS", number}) == "OK");
    SUBCASE("not longer than that from the start") {
        auto late = slot.start({"--connect-timeout", "1s"}, {"true"});
        CHECK(late.wait() == 69);
        CHECK(says(late.err(), "CLUSTERDOWN"));
    }
    SUBCASE("and it is served again") {
        auto late = slot.start({"--connect-timeout", "20s"}, {"true"});
        CHECK(eventually([&] { return says(late.err(), "CLUSTERDOWN"); }));
        waiters.push_back(std::move(late));
    }
    REQUIRE(master.command({"CLUSTER", "ADDSLOTS", number}) == "OK");
    slot.end("holder");
    CHECK(holder.wait() == 0);
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
    CHECK(slot.runs() == "holder waiter");
}

TEST_CASE("a cluster with a password, by TLS") {
    Cluster cluster("cluster-hunter2", true);
    const std::string name = "agent:by-tls";
    Slot slot(name, cluster.url(cluster.stranger_to(key_of(name)), ":cluster-hunter2"),
              {"--cacert", cluster.authority()});
    auto holder = slot.lasting("holder");
    REQUIRE(slot.enters("holder"));
    auto waiters = slot.line_up({"first", "second"}, cluster.master_of(slot.key()));
    slot.end("holder");
    CHECK(holder.wait() == 0);
    for (auto& waiter : waiters) CHECK(waiter.wait() == 0);
    CHECK(slot.runs() == "holder first second");
}
