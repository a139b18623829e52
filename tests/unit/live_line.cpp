#include "cli/live_line.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cli/display.hpp"

using cli::columns_of;
using cli::live_text;

namespace {

const cli::LiveFacts facts{"agent:code-agent", "nightly build", "ci@build7", "4242", "3m5s",
                           "2 before you",     "12s",           "48s"};

std::string repeated(const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
}

}  // namespace

TEST_CASE("the live line says less on less room") {
    CHECK(live_text(facts, 200) ==
          "sandbox-lock: agent:code-agent: waiting for 12s: held by nightly build (ci@build7, pid "
          "4242) for 3m5s; 2 before you; 48s left");
    CHECK(live_text(facts, 80) ==
          "agent:code-agent: held by nightly build (ci@build7); 2 before you; 48s left");
    CHECK(live_text(facts, 40) == "held by nightly build; 2 before you");
    CHECK(live_text(facts, 20) == "held by nightly b...");
    CHECK(live_text(facts, 10) == "nightly...");
    CHECK(live_text(facts, 1) == ".");
    CHECK(live_text(facts, 0).empty());
    auto no_limit = facts;
    no_limit.left.clear();
    CHECK(live_text(no_limit, 80) ==
          "agent:code-agent: waiting for 12s: held by nightly build; 2 before you");
    CHECK(live_text(no_limit, 40) == "held by nightly build; 2 before you");
}

TEST_CASE("the live line is never wider than it may be, whatever is in it") {
    auto many = facts;
    for (const std::string part : {"x", "ü", "e\u0301", "東", "🚀"}) {
        many.slot = "agent:" + repeated(part, 30);
        many.holder = many.address = repeated(part, 30);
        for (std::size_t columns = 0; columns <= 130; ++columns) {
            const auto text = live_text(many, columns);
            CHECK(columns_of(text) <= columns);
            CHECK(cli::printable(text) == text);  // cut nowhere inside of a character
        }
    }
}

TEST_CASE("a line without what is not known") {
    CHECK(live_text({"agent:x", "foreign", "", "", "", "", "", ""}, 100) ==
          "sandbox-lock: agent:x: waiting: held by foreign");
}

TEST_CASE("drawing begins and ends at the line's start, and leaves a column free") {
    cli::LiveLine line;
    CHECK(line.erase(80).empty());
    const cli::LiveFacts short_facts{"", "nightly", "", "", "", "", "", ""};
    CHECK(line.draw(short_facts, 100) == "\r\x1b[Ksandbox-lock: waiting: held by nightly\r");
    CHECK(line.shown());
    CHECK(line.draw(short_facts, 8) == "\r\x1b[Jnightly\r");  // it was wrapped
    CHECK(line.draw(short_facts, 7) == "\r\x1b[Jnig...\r");
    CHECK(line.erase(7) == "\r\x1b[K");
    CHECK_FALSE(line.shown());
    CHECK(line.erase(7).empty());
    CHECK(line.draw(short_facts, 1) == "\r\x1b[K\r");
}
