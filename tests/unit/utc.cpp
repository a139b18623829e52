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
          "2026-02-30T10:00:00Z", "2026-11-29 10:00:00Z", "2026-11-2xT10:00:00Z"})
        CHECK_FALSE(guard::read_utc(other));
}
