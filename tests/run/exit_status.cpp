#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>
#include <string>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using support::sandbox_lock;
using support::shared_redis;

TEST_CASE("every exit status of the command comes through") {
    for (int status = 0; status <= 255; ++status) {
        auto run = sandbox_lock(shared_redis().unix_url(), {"agent:status", "--", "sh", "-c",
                                                            "exit " + std::to_string(status)});
        REQUIRE(run.wait() == status);
        REQUIRE(run.err().empty());
    }
}

TEST_CASE("a command that dies by a signal gives 128 plus its number, as an exit status") {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM, SIGSEGV, SIGUSR1}) {
        auto run = sandbox_lock(
            shared_redis().unix_url(),
            {"agent:signal", "--", "sh", "-c", "kill -" + std::to_string(signal) + " $$"});
        CHECK(run.wait() == 128 + signal);
        CHECK(WIFEXITED(run.raw_status()));
        CHECK(run.err().empty());
        CHECK_FALSE(shared_redis().command({"GET", support::key_of("agent:signal")}));
    }
}
