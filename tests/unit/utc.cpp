#include "guard/utc.hpp"

#include <doctest/doctest.h>

using namespace std::chrono;

TEST_CASE("a time is read as it is written, and nothing else is") {
    CHECK(guard::read_utc("1970-01-02T00:00:01Z") == sys_seconds{seconds{86401}});
    CHECK(guard::read_utc("2026-11-29T10:00:00Z") ==
          sys_days{year{2026} / November / 29} + hours{10});
    const auto now = guard::read_utc(guard::utc_now());
    REQUIRE(now);
    CHECK(abs(system_clock::now() - *now) < minutes{1});
    for (const char* other :
         {"", "?", "2026-11-29", "2026-11-29T10:00:00+01", "2026-13-29T10:00:00Z",
          "2026-02-30T10:00:00Z", "2026-11-29 10:00:00Z", "2026-11-2xT10:00:00Z",
          "2026-11-29T24:00:00Z", "2026-11-29T10:60:00Z", "2026-11-29T10:00:61Z"})
        CHECK_FALSE(guard::read_utc(other));
}

TEST_CASE("how long ago a time is, unless it is to come or too long ago to be counted") {
    const auto span = guard::since("1970-01-01T00:00:00Z");
    REQUIRE(span);
    CHECK(abs(*span - system_clock::now().time_since_epoch()) < minutes{1});
    CHECK(guard::since("1760-01-01T00:00:00Z"));
    for (const char* none : {"0000-01-01T00:00:00Z", "1013-11-29T10:00:00Z", "1700-01-01T00:00:00Z",
                             "9999-12-31T23:59:60Z", "?"})
        CHECK_FALSE(guard::since(none));
}
