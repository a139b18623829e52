// The contract of DESIGN section 3, by the interface that every store has. A new store is one more
// entry in `stores`; what a store cannot do is asked of the store, never of its name.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "store/client.hpp"
#include "store/file/lock_file.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

using namespace store_tests;
using namespace support;
using guard::Fault;

namespace {

struct Subject {
    std::string url;
    /// Takes the slot of a store key away from its holder, as only somebody from outside can.
    std::function<void(const std::string& key)> take_away;
};

const std::string& lock_directory() {
    static const TempDir dir;
    static const std::string path = dir / "locks";
    return path;
}

std::vector<Subject> stores() {
    const auto overwrite = [](const std::string& key) {
        shared_redis().command({"SET", key, "foreign", "PX", "60000"});
    };
    const auto remove = [](const std::string& key) {
        unlink((lock_directory() + "/" + store::file::file_name(key)).c_str());
    };
    return {
        {shared_redis().url(), overwrite},
        {shared_redis().unix_url(), overwrite},
        {"file:" + lock_directory(), remove},
    };
}

/// Runs `test` on each store, as a test of its own in the count of what failed where.
void on_each_store(const std::function<void(const Subject&)>& test) {
    for (const auto& subject : stores()) {
        CAPTURE(subject.url);
        test(subject);
    }
}

}  // namespace

TEST_CASE("contract: a slot is entered, excludes others, and is free after its release") {
    on_each_store([](const Subject& subject) {
        Client first(subject.url, "agent:exclusion");
        Client second(subject.url, "agent:exclusion");
        Client other(subject.url, "agent:another-slot");
        REQUIRE(first.enter(once));
        const auto refused = second.enter(once);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().fault == Fault::taken);
        CHECK(refused.error().text == first.claim.token);
        CHECK(other.enter(once));
        CHECK(first.release());
        CHECK(second.enter(once));
        CHECK(second.release());
        CHECK(other.release());
    });
}

TEST_CASE("contract: release is idempotent, and never frees what another holds") {
    on_each_store([](const Subject& subject) {
        Client first(subject.url, "agent:release");
        Client second(subject.url, "agent:release");
        CHECK(first.release());  // nothing was entered
        REQUIRE(first.enter(once));
        CHECK_FALSE(second.enter(once));
        CHECK(second.release());
        CHECK_FALSE(second.enter(once));
        CHECK(first.release());
        CHECK(first.release());
        REQUIRE(second.enter(once));
        CHECK(first.release());
        CHECK_FALSE(first.enter(once));
        CHECK(second.release());
    });
}

TEST_CASE("contract: a slot that is released after a while stays closed until then") {
    on_each_store([](const Subject& subject) {
        Client holder(subject.url, "agent:after-a-while");
        Client next(subject.url, "agent:after-a-while");
        REQUIRE(holder.enter());
        const auto start = BootClock::now();
        CHECK(holder.store->release_after(600ms, guard::after(start, 2s), holder.undisturbed));
        CHECK(next.enter());
        CHECK(BootClock::now() - start >= 600ms);
        CHECK(next.release());
    });
}

TEST_CASE("contract: many contenders never overlap, and the fence grows with each entry") {
    on_each_store([](const Subject& subject) {
        constexpr int contenders = 20;
        constexpr int entries = 5;
        const TempDir dir;
        const std::string log = dir / "log";
        std::vector<pid_t> children;
        for (int i = 0; i < contenders; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                for (int n = 0; n < entries; ++n) {
                    Client client(subject.url, "agent:many");
                    const auto lease = client.enter();
                    if (!lease) _exit(1);
                    std::ofstream{log, std::ios::app} << "start " << lease->fence << std::endl;
                    std::ofstream{log, std::ios::app} << "end " << lease->fence << std::endl;
                    if (!client.release()) _exit(2);
                }
                _exit(0);
            }
            children.push_back(child);
        }
        for (const pid_t child : children) {
            int status = 0;
            REQUIRE(waitpid(child, &status, 0) == child);
            CHECK(status == 0);
        }
        std::istringstream lines{read_file(log)};
        std::uint64_t last = 0;
        int runs = 0;
        for (std::string word; lines >> word; ++runs) {
            std::uint64_t begun = 0;
            std::uint64_t ended = 0;
            REQUIRE(word == "start");
            REQUIRE((lines >> begun >> word >> ended));
            REQUIRE(word == "end");
            REQUIRE(begun == ended);
            REQUIRE(begun > last);
            last = begun;
        }
        CHECK(runs == contenders * entries);
    });
}

TEST_CASE("contract: a waiter gets in when the slot is released, and is told of the holder") {
    on_each_store([](const Subject& subject) {
        Client holder(subject.url, "agent:waiter");
        Client waiter(subject.url, "agent:waiter");
        REQUIRE(holder.enter(once));
        std::atomic<bool> is_in = false;
        std::thread waiting([&] { is_in = static_cast<bool>(waiter.enter()); });
        CHECK_FALSE(eventually([&] { return is_in.load(); }, 100ms));
        CHECK(holder.release());
        CHECK(eventually([&] { return is_in.load(); }));
        waiting.join();
        REQUIRE_FALSE(waiter.holders.empty());
        CHECK(waiter.holders.front() == holder.claim.token);
        CHECK(waiter.release());
    });
}

TEST_CASE("contract: an entry that was interrupted or timed out leaves nothing behind") {
    on_each_store([](const Subject& subject) {
        Client holder(subject.url, "agent:gave-up");
        REQUIRE(holder.enter(once));

        Client interrupted(subject.url, "agent:gave-up");
        interrupted.run.interrupt_at = BootClock::now() + 50ms;
        const auto cut = interrupted.enter();
        REQUIRE_FALSE(cut);
        CHECK(cut.error().fault == Fault::interrupted);
        CHECK(interrupted.release());

        Client late(subject.url, "agent:gave-up");
        const auto before = BootClock::now();
        const auto over = late.enter({.until = before + 100ms});
        REQUIRE_FALSE(over);
        CHECK(over.error().fault == Fault::taken);
        CHECK(over.error().text == holder.claim.token);
        CHECK(BootClock::now() - before >= 100ms);
        CHECK(BootClock::now() - before < 2s);
        CHECK(late.release());

        CHECK(holder.holds(holder.claim.token));
        CHECK(holder.release());
        Client next(subject.url, "agent:gave-up");
        CHECK(next.enter(once));
        CHECK(next.release());
    });
}

TEST_CASE("contract: a nested call knows the token that holds its slot, and no other") {
    on_each_store([](const Subject& subject) {
        Client outer(subject.url, "agent:nested");
        Client inner(subject.url, "agent:nested");
        CHECK_FALSE(inner.holds(outer.claim.token));
        REQUIRE(outer.enter(once));
        CHECK(inner.holds(outer.claim.token));
        CHECK_FALSE(inner.holds(inner.claim.token));
        CHECK(outer.release());
        CHECK_FALSE(inner.holds(outer.claim.token));
    });
}

TEST_CASE("contract: a holder whose slot is taken away learns that its lease is lost") {
    on_each_store([](const Subject& subject) {
        Client holder(subject.url, "agent:lost by " + subject.url, 1s);
        const auto lease = holder.enter(once);
        REQUIRE(lease);
        subject.take_away(holder.claim.key);
        holder.run.interrupt_at = BootClock::now() + patience;
        const auto holding = holder.store->hold(*lease, holder.run);
        CHECK(holding.lost);
        CHECK_FALSE(holding.why.empty());
    });
}

TEST_CASE("contract: a lease ends before the ttl does, or never and has an anchor then") {
    on_each_store([](const Subject& subject) {
        Client holder(subject.url, "agent:lapse", 10s);
        CHECK_FALSE(holder.store->anchor());
        const auto before = BootClock::now();
        const auto lease = holder.enter(once);
        REQUIRE(lease);
        const bool lapses = holder.store->leases_lapse();
        CHECK(lapses == (lease->deadline < before + 10s));
        CHECK(lapses != (lease->deadline == guard::never));
        CHECK(lapses != static_cast<bool>(holder.store->anchor()));
        CHECK(holder.release());
    });
}

TEST_CASE("contract: while its anchor is open, a slot stays closed without its holder") {
    on_each_store([](const Subject& subject) {
        guard::Descriptor anchor;
        {
            Client holder(subject.url, "agent:anchor", 1s);
            REQUIRE(holder.enter(once));
            anchor = holder.store->anchor();
        }
        Client next(subject.url, "agent:anchor");
        CHECK_FALSE(next.enter(once));
        anchor.reset();
        // By the end of the anchor or of the ttl: whatever the store has.
        CHECK(next.enter({.until = BootClock::now() + patience}));
        CHECK(next.release());
    });
}

TEST_CASE("contract: keys of all kinds, each a slot of its own") {
    const std::vector<std::string> values{" a b ",
                                          "a:b:c",
                                          "{x}",
                                          "}{",
                                          "a%3Ab",
                                          "..",
                                          "/etc/x",
                                          "Jürgen/日本",
                                          "\n\r\t",
                                          std::string(4096, 'v'),
                                          std::string(4095, 'v') + "w",
                                          "\xff\xfe"};
    on_each_store([&](const Subject& subject) {
        std::vector<std::unique_ptr<Client>> holders;
        for (const auto& value : values) {
            holders.push_back(std::make_unique<Client>(subject.url, "agent:" + value));
            CHECK(holders.back()->enter(once));
        }
        for (const auto& holder : holders) {
            CHECK(holder->holds(holder->claim.token));
            CHECK(holder->release());
        }
    });
}
