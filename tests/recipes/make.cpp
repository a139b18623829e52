// The Makefile of the manual page.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "support/program.hpp"
#include "support/recipes.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

bool free(const std::string& slot) {
    return !shared_redis().command({"GET", key_of(slot)});
}

}  // namespace

TEST_CASE("recipe for make: the jobserver reaches the inner call") {
    const Workplace place(shared_redis().unix_url());
    // Each job waits until four have started: that many must be able to run, and no more ever do.
    write_file(place / "Makefile",
               recipe("A target of a Makefile") +
                   "check-unlocked: 1 2 3 4 5 6 7 8 9 10 11 12\n"
                   "1 2 3 4 5 6 7 8 9 10 11 12:\n"
                   "\t@echo + >>log; n=0; "
                   "while [ $$(grep -c + log) -lt 4 ] && [ $$n -lt 2000 ]; "
                   "do sleep 0.01; n=$$((n+1)); done; sleep 0.02; echo - >>log\n");
    auto make = place.start({"make", "--no-print-directory", "-j4", "check", "AGENT=inner"});
    CHECK(make.wait(2 * patience) == 0);
    CHECK(make.err().empty());
    int running = 0;
    int most = 0;
    for (const char mark : read_file(place / "log")) {
        running += mark == '+' ? 1 : mark == '-' ? -1 : 0;
        most = std::max(most, running);
    }
    CHECK(most == 4);
    CHECK(running == 0);
}

TEST_CASE("recipe for make: TERM to make ends all, and the slot is free") {
    const Workplace place(shared_redis().unix_url());
    write_file(place / "Makefile",
               recipe("A target of a Makefile") + "check-unlocked:\n\t@touch ready; sleep 1000\n");
    auto make = place.start({"make", "check", "AGENT=ended"});
    REQUIRE(eventually([&] { return std::ifstream(place / "ready").good(); }));
    CHECK_FALSE(free("agent:ended"));
    make.signal(SIGTERM);
    CHECK(make.wait() != 0);
    CHECK(eventually([&] { return place.running().empty(); }));
    CHECK(free("agent:ended"));
}
