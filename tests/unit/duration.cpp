#include "cli/duration.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using cli::duration_text;
using cli::parse_duration;

TEST_CASE("durations: seconds, or numbers with units in falling order") {
    CHECK(parse_duration("5") == 5s);
    CHECK(parse_duration("0") == 0s);
    CHECK(parse_duration("0.25") == 250ms);
    CHECK(parse_duration(".5") == 500ms);
    CHECK(parse_duration("500ms") == 500ms);
    CHECK(parse_duration("90s") == 90s);
    CHECK(parse_duration("30m") == 30min);
    CHECK(parse_duration("2h") == 2h);
    CHECK(parse_duration("1h30m") == 90min);
    CHECK(parse_duration("1h30m5s250ms") == 90min + 5s + 250ms);
    CHECK(parse_duration("1.5h") == 90min);
}

TEST_CASE("anything else is no duration") {
    for (const char* text : {"",     "x",   "-1", "+1",   "1e3",           "inf",   "nan",
                             "1d",   "5 s", " 5", "5 ",   "1m1h",          "1s1s",  "1h30",
                             "1..5", ".",   "s",  "0x10", "9999999999999", "1e400", "99999999999h",
                             "1,5"})
        CHECK_FALSE(parse_duration(text));
}

TEST_CASE("durations are written in a form that can be read") {
    CHECK(duration_text(0s) == "0ms");
    CHECK(duration_text(350ms) == "350ms");
    CHECK(duration_text(12s) == "12s");
    CHECK(duration_text(12340ms) == "12.3s");
    CHECK(duration_text(125s) == "2m5s");
    CHECK(duration_text(90min) == "1h30m");
    for (const auto span : {0s, 1s, 59s, 60s, 3599s, 3600s, 86400s})
        CHECK(parse_duration(duration_text(span)) == span);
}
