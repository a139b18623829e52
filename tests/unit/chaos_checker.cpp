// What checks the chaos test is shown histories that are wrong, and finds it.
#include "chaos/checker.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>

using namespace std::chrono_literals;
using namespace chaos;

namespace {

const Time origin{1000s};

/// Evidence of runs of one slot, in which all went well until something is changed.
struct Story : Evidence {
    /// A run that started to wait at `from`, and whose command ran from `start` to `end`.
    int add(Duration from, Duration start, Duration end) {
        const int number = static_cast<int>(runs.size());
        runs.push_back({.slot = 3,
                        .ttl = 2s,
                        .spawned = origin + from,
                        .waiting = origin + from + 1ms,
                        .ended = origin + end + 1ms});
        sign(Sign::start, start, number);
        sign(Sign::beat, (start + end) / 2, number);
        sign(Sign::end, end, number);
        return number;
    }
    void sign(Sign::Kind kind, Duration at, int run) {
        const auto fence = static_cast<std::uint64_t>(run + 1);
        signs.push_back({kind, origin + at, 3, fence, run, 100 + run});
    }
    void fault(Kind kind, Duration from, Duration to, int run = -1, Duration jump = {}) {
        faults.push_back({kind, {origin + from, origin + to}, run, jump});
    }
    [[nodiscard]] bool complains_of(const std::string& what) const {
        const auto found = judge(*this).violations;
        return std::ranges::any_of(found,
                                   [&](const auto& text) { return text.find(what) != text.npos; });
    }
    [[nodiscard]] bool is_fine() const { return judge(*this).violations.empty(); }
};

Story good_story() {
    Story story;
    story.add(0s, 10ms, 1s);
    story.add(100ms, 1010ms, 2s);
    story.add(200ms, 2010ms, 3s);
    return story;
}

}  // namespace

TEST_CASE("chaos: a history is read") {
    std::istringstream history{"S 5000000 3 17 2 99\nB 6000000 3 17 2 100\n"};
    const auto signs = read_signs(history);
    REQUIRE(signs.size() == 2);
    CHECK(signs[0].kind == Sign::start);
    CHECK(signs[0].at == Time{5ms});
    CHECK(signs[0].slot == 3);
    CHECK(signs[0].fence == 17);
    CHECK(signs[0].run == 2);
    CHECK(signs[1].kind == Sign::beat);
    CHECK(signs[1].pid == 100);
    std::istringstream broken{"S 5000000 3 1"};
    CHECK_THROWS(read_signs(broken));
}

TEST_CASE("chaos: nothing is said of what is right, and the figures are") {
    const auto verdict = judge(good_story());
    CHECK(verdict.violations.empty());
    CHECK(verdict.entries == 3);
    CHECK(verdict.pairs == 1);
    CHECK(verdict.longest_wait == 1810ms);
    CHECK(verdict.longest_calm_handover == 10ms);
}

TEST_CASE("chaos: an overlap is found") {
    auto story = good_story();
    SUBCASE("of two commands") {
        story.add(300ms, 2900ms, 3100ms);
    }
    SUBCASE("of a descendant with the next command") {
        story.sign(Sign::beat, 1011ms, 0);
    }
    SUBCASE("with one that is not the next") {
        story.sign(Sign::beat, 2500ms, 0);
    }
    SUBCASE("long after a clock was set forward") {
        story.fault(Kind::clock_forward, 500ms, 501ms, -1, 5s);
        story.sign(Sign::beat, 2600ms, 0);
    }
    SUBCASE("when the clock was set forward by less than the margin") {
        story.fault(Kind::clock_slip, 500ms, 501ms, -1, 50ms);
        story.sign(Sign::beat, 1011ms, 0);
    }
    CHECK(story.complains_of("overlap"));
}

TEST_CASE("chaos: an overlap that is permitted is counted") {
    auto story = good_story();
    story.sign(Sign::beat, 1011ms, 0);
    SUBCASE("the clock was set forward") {
        story.fault(Kind::clock_forward, 500ms, 501ms, -1, 5s);
    }
    SUBCASE("the clock was set forward, and the lease came back when the other one had left") {
        story.fault(Kind::clock_forward, 500ms, 501ms, -1, 5s);
        story.sign(Sign::beat, 2005ms, 0);
    }
    SUBCASE("the machine was too busy") {
        story.stalls.push_back({origin + 900ms, origin + 1010ms});
    }
    const auto verdict = judge(story);
    CHECK(verdict.violations.empty());
    REQUIRE(verdict.permitted.size() == 1);
    CHECK(verdict.permitted.begin()->second == 1);
}

TEST_CASE("chaos: a fence that does not grow is found") {
    auto story = good_story();
    SUBCASE("lower") {
        for (auto& sign : story.signs)
            if (sign.run == 2) sign.fence = 1;
    }
    SUBCASE("the same") {
        for (auto& sign : story.signs)
            if (sign.run == 1) sign.fence = 1;
    }
    CHECK(story.complains_of("the fence does not grow"));
}

TEST_CASE("chaos: a slot that nobody enters while somebody waits is found") {
    auto story = good_story();
    story.add(300ms, 9s, 10s);
    CHECK(story.complains_of("nobody entered for 6.000 s"));
    SUBCASE("unless nobody waited") {
        story.runs.back().waiting = origin + 8s;
    }
    SUBCASE("unless leases could not be had") {
        story.fault(Kind::pause_long, 3s, 6s);
    }
    SUBCASE("unless leases of the dead had to lapse") {
        story.fault(Kind::kill_keeper, 2900ms, 2900ms, 2);
        story.fault(Kind::kill_keeper, 4s, 4s, 2);
    }
    SUBCASE("unless the clock was set back") {
        story.fault(Kind::clock_back, 2s, 2001ms, -1, -4s);
    }
    CHECK_FALSE(story.complains_of("nobody entered"));
}

TEST_CASE("chaos: a run that does not end is found") {
    auto story = good_story();
    const int number = story.add(300ms, 4s, 5s);
    std::erase_if(story.signs, [&](const Sign& sign) { return sign.run == number; });
    story.runs.back().ended = Time{};
    CHECK(story.complains_of("has not ended"));
}

TEST_CASE("chaos: who enters before one that came earlier is found") {
    Story story;
    story.add(0s, 10ms, 1s);
    story.add(100ms, 3s, 4s);
    story.add(200ms, 1500ms, 2s);
    for (auto& sign : story.signs)  // in the order of entry
        if (sign.run > 0) sign.fence = sign.run == 2 ? 2 : 3;
    CHECK(story.complains_of("entered before it"));
    SUBCASE("unless it was disturbed") {
        story.fault(Kind::stop_waiter, 500ms, 1600ms, 1);
    }
    SUBCASE("unless the other one was") {
        story.fault(Kind::stop_waiter, 500ms, 1600ms, 2);
    }
    SUBCASE("unless the server was") {
        story.fault(Kind::drop_clients, 500ms, 501ms);
    }
    SUBCASE("unless the machine was") {
        story.stalls.push_back({origin + 1s, origin + 1400ms});
    }
    SUBCASE("unless it was not in the queue yet") {
        story.runs[1].waiting = origin + 200ms;
    }
    CHECK(story.is_fine());
}

TEST_CASE("chaos: an exit status that is not true is found") {
    auto story = good_story();
    SUBCASE("a success without an end") {
        std::erase_if(story.signs,
                      [](const Sign& sign) { return sign.run == 2 && sign.kind == Sign::end; });
    }
    SUBCASE("the slot was taken, but the command has run") {
        story.runs[1].may_give_up = true;
        story.runs[1].status = 75;
    }
    SUBCASE("a failure that nobody caused") {
        story.runs[0].status = 79;
    }
    SUBCASE("a warden that nobody killed") {
        story.runs[0].status = 70;
        story.fault(Kind::pause_long, 0s, 1s);
    }
    CHECK(story.complains_of("ended with"));
}

TEST_CASE("chaos: what is left over is found, and a run that ran twice") {
    auto story = good_story();
    CHECK(story.is_fine());
    SUBCASE("a process") {
        story.left_running.emplace_back("4711 job");
    }
    SUBCASE("a key") {
        story.left_in_store.emplace_back("key");
    }
    SUBCASE("a second run") {
        story.sign(Sign::start, 3100ms, 2);
    }
    CHECK_FALSE(story.is_fine());
}

TEST_CASE("chaos: a seed repeats its schedule, and each kind of fault comes") {
    for (const auto track : {Schedule::of_processes, Schedule::of_server}) {
        Schedule one{7, track};
        Schedule same{7, track};
        Schedule other{8, track};
        bool differs = false;
        std::array<int, kinds> times{};
        for (int i = 0; i < 48; ++i) {
            const auto fault = one.next();
            const auto again = same.next();
            CHECK(fault.kind == again.kind);
            CHECK(fault.pause == again.pause);
            CHECK(fault.length == again.length);
            CHECK(fault.jump == again.jump);
            CHECK(fault.pick == again.pick);
            CHECK(hits_process(fault.kind) == (track == Schedule::of_processes));
            differs = differs || other.next().pause != fault.pause;
            ++times[static_cast<std::size_t>(fault.kind)];
        }
        CHECK(differs);
        for (std::size_t i = 0; i < kinds; ++i)
            if (hits_process(static_cast<Kind>(i)) == (track == Schedule::of_processes))
                CHECK(times[i] > 0);
    }
}
