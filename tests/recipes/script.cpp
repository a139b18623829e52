// The script of the manual page.
#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "support/program.hpp"
#include "support/recipes.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

const std::string title = "The last line of a script";

}  // namespace

TEST_CASE("recipe for a script: the exit status, and nothing is run when the preparation fails") {
    const Workplace place(shared_redis().unix_url());
    place.executable("job", recipe(title, {{"make test", "make -s test"}}));
    place.executable("prepare", "#!/bin/sh\necho prepared\n");
    write_file(place / "Makefile", "test:\n\t@echo tested\n");
    auto good = place.start({"./job"});
    CHECK(good.wait() == 0);
    CHECK(good.out() == "prepared\ntested\n");
    place.executable("prepare", "#!/bin/sh\nexit 7\n");
    auto bad = place.start({"./job"});
    CHECK(bad.wait() == 7);
    CHECK(bad.out().empty());
}

TEST_CASE("recipe for a script: a signal reaches the command, not what was there before") {
    const Workplace place(shared_redis().unix_url());
    place.executable("job", recipe(title, {{"./prepare", "sleep 1000 & echo $! >before"},
                                           {"make test",
                                            "sh -c 'trap \"exit 9\" TERM; touch ready; "
                                            "while :; do sleep 0.02; done'"}}));
    auto job = place.start({"./job"});
    REQUIRE(eventually([&] { return std::ifstream(place / "ready").good(); }));
    const pid_t before = pids_in(read_file(place / "before")).front();
    job.signal(SIGTERM);
    CHECK(job.wait() == 9);
    CHECK(place.running() == std::vector<pid_t>{before});
    CHECK_FALSE(shared_redis().command({"GET", key_of("agent:code-agent")}));
}
