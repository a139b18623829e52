// The harness polls and knows no queue; sandbox-lock has one. Both want one slot, all the time.
#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "interop/harness.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"

using namespace interop;
using namespace support;

namespace {

/// A slot, and a log of who was in it. Whoever comes again does so until `end()`, or until there is
/// no place for the log any more.
class Slot {
public:
    explicit Slot(std::string value) : value_(std::move(value)) {}

    /// A sandbox-lock after the other.
    [[nodiscard]] Process come_again(const std::string& id) const {
        const std::string job =
            "echo start " + id + " >> " + log_ + "; sleep 0.01; echo end " + id + " >> " + log_;
        return Process({"sh", "-c",
                        "while [ ! -e " + end_ + " ]; do " + program_path() +
                            " -q agent:" + value_ + " -- sh -c '" + job + "' || exit; done"},
                       {.environment = clean_environment(shared_redis().url())});
    }
    /// A thread of the harness.
    void harness_comes_again(const std::string& id, const std::string& guard) const {
        shared_harness().tell({"crowd", id, guard, "AGENT", value_, log_});
    }
    void end() const { write_file(end_, ""); }

    [[nodiscard]] std::string begin(const std::string& guard) const {
        return shared_harness().begin(guard, "AGENT", value_);
    }
    [[nodiscard]] std::string key() const { return key_of("agent:" + value_); }
    [[nodiscard]] long waiting() const {
        return std::stol(shared_redis().command({"ZCARD", "{" + key() + "}:queue"}).value_or("0"));
    }
    /// How often each has been in; fails where two were at once.
    [[nodiscard]] std::map<std::string, int> runs() const {
        std::map<std::string, int> runs;
        std::istringstream lines{read_file(log_)};
        for (std::string word, begun, ended; lines >> word; ++runs[begun]) {
            REQUIRE(word == "start");
            REQUIRE((lines >> begun >> word >> ended));
            REQUIRE(word == "end");
            REQUIRE(begun == ended);
        }
        return runs;
    }

private:
    std::string value_;
    TempDir dir_;
    std::string log_ = dir_ / "log";
    std::string end_ = log_ + ".end";
};

}  // namespace

TEST_CASE("a harness that polls gets in while sandbox-locks stand in the queue") {
    const auto& harness = shared_harness();
    const Slot slot{"polled"};
    // That there are others is learned from the first of them that holds the slot.
    auto id = slot.begin("builder");
    REQUIRE(harness.says("entered", id));
    std::vector<Process> queue;
    for (const char* name : {"1", "2", "3", "4"}) queue.push_back(slot.come_again(name));
    REQUIRE(eventually([&] { return slot.waiting() == 4; }));
    for (int times = 0; times < 3; ++times) {
        harness.leave(id);
        id = slot.begin("builder");
        REQUIRE(harness.says("entered", id));
        CHECK(slot.waiting() > 0);
        CHECK(is_uuid(token_in(shared_redis(), slot.key())));
    }
    slot.end();
    harness.leave(id);
    for (auto& process : queue) CHECK(process.wait() == 0);
    CHECK(slot.runs().size() == queue.size());
}

TEST_CASE("a sandbox-lock in the queue gets in while harnesses pass the slot on among themselves") {
    const auto& harness = shared_harness();
    const Slot slot{"passed"};
    const std::vector<std::string> threads{"passed-1", "passed-2", "passed-3"};
    for (const auto& id : threads) slot.harness_comes_again(id, "quick");
    REQUIRE(eventually([&] { return is_uuid(token_in(shared_redis(), slot.key())); }));
    for (int times = 0; times < 3; ++times) {
        auto waiter = sandbox_lock(shared_redis().url(), {"-q", "agent:passed", "--", "true"});
        CHECK(waiter.wait() == 0);
    }
    slot.end();
    for (const auto& id : threads) CHECK(harness.says("left", id));
}

TEST_CASE("both kinds for twenty seconds: no overlap, and nobody is left out") {
    const auto& harness = shared_harness();
    const Slot slot{"crowd"};
    const std::map<std::string, std::string> threads{
        {"crowd-1", "builder"}, {"crowd-2", "builder"}, {"crowd-3", "quick"}, {"crowd-4", "quick"}};
    for (const auto& [id, guard] : threads) slot.harness_comes_again(id, guard);
    std::vector<Process> processes;
    for (int i = 0; i < 8; ++i) processes.push_back(slot.come_again(std::to_string(i)));
    std::this_thread::sleep_for(20s);
    slot.end();
    for (auto& process : processes) CHECK(process.wait() == 0);
    for (const auto& [id, guard] : threads) CHECK(harness.says("left", id));
    CHECK(slot.runs().size() == threads.size() + processes.size());
    CHECK(shared_redis().command({"EXISTS", slot.key()}) == "0");
}
