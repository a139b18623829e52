#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

/// The ttl in seconds that a run gives its key.
long ttl_of(const std::vector<std::string>& options, const std::vector<std::string>& environment) {
    auto& redis = shared_redis();
    std::vector<std::string> arguments = options;
    arguments.insert(arguments.end(), {"agent:ttl", "--", "sh", "-c", "echo in; exec sleep 1000"});
    auto run = sandbox_lock(redis.unix_url(), arguments, {.environment = environment});
    if (!eventually([&] { return run.out() == "in\n" || run.ended(); }) || run.ended()) {
        MESSAGE(run.err());
        return -1;
    }
    const long left = std::stol(redis.command({"PTTL", key_of("agent:ttl")}).value_or("0"));
    run.signal(SIGTERM);
    run.wait();
    return (left + 999) / 1000;
}

}  // namespace

TEST_CASE(
    "the option counts before the environment, that before the user's file, that before the "
    "default") {
    const TempDir dir;
    write_file(dir / "sandbox-lock.toml",
               "# a comment\nlease-ttl = \"1m40s\"  # another\nlabel = \"a # b, c\"\n");
    write_file(dir / "other.toml", "lease-ttl = 300\nno-renew = true\n");
    const std::string home = "XDG_CONFIG_HOME=" + (dir / "");
    const std::string variable = "SANDBOX_LOCK_LEASE_TTL=200s";
    CHECK(ttl_of({}, {}) == 30);
    CHECK(ttl_of({}, {home}) == 100);
    CHECK(ttl_of({}, {home, variable}) == 200);
    CHECK(ttl_of({"--lease-ttl", "50s"}, {home, variable}) == 50);
    CHECK(ttl_of({"--lease-ttl=50s", "--lease-ttl", "60s"}, {}) == 60);
    CHECK(ttl_of({"--config", dir / "other.toml"}, {home}) == 300);
    CHECK(ttl_of({}, {"SANDBOX_LOCK_LEASE_TTL="}) == 30);
}

TEST_CASE("without a Redis at the default address the message names the ways out") {
    if (geteuid() != 0) {
        MESSAGE("skipped: needs root for a network without a Redis at 127.0.0.1");
        return;
    }
    const Launch launch{.before_exec = [] {
        if (unshare(CLONE_NEWNET) != 0) _exit(99);
    }};
    auto run = sandbox_lock("", {"agent:x", "--", "echo", "ran"}, launch);
    CHECK(run.wait() == 69);
    CHECK(run.out().empty());
    CHECK(run.err().find("SANDBOX_LOCK_STORE") != std::string::npos);
    CHECK(run.err().find("--store file:") != std::string::npos);
    auto named =
        sandbox_lock("", {"--store", "redis://127.0.0.1:6379", "agent:x", "--", "true"}, launch);
    CHECK(named.wait() == 69);
    CHECK(named.err().find("--store file:") == std::string::npos);
}

TEST_CASE("an option does away with its rival from a weaker place") {
    auto& redis = shared_redis();
    redis.command({"SET", key_of("agent:rivals"), "foreign", "PX", "60000"});
    const auto run = [&](std::vector<std::string> options, const std::string& variable) {
        options.insert(options.end(), {"agent:rivals", "--", "true"});
        const Stopwatch watch;
        auto process = sandbox_lock(redis.unix_url(), options, {.environment = {variable}});
        CHECK(process.wait() == 75);
        return std::pair{process.err(), watch.seconds()};
    };
    CHECK(run({"-q", "-n"}, "SANDBOX_LOCK_VERBOSE=1").first.find("waiting") == std::string::npos);
    CHECK(run({"-v", "-w", "0.1"}, "SANDBOX_LOCK_QUIET=1").first.find("waiting") !=
          std::string::npos);
    CHECK(run({"-w", "0.5"}, "SANDBOX_LOCK_NONBLOCK=1").second >= 0.5);
    CHECK(run({"-n"}, "SANDBOX_LOCK_WAIT=100").second < 10);
    redis.command({"DEL", key_of("agent:rivals")});
}

TEST_CASE("values with spaces, commas and number signs come through a configuration file") {
    auto& redis = shared_redis();
    const TempDir dir;
    write_file(dir / "c.toml", "label = \"a # b, c\"\n");
    auto run = sandbox_lock(redis.unix_url(), {"--config", dir / "c.toml", "agent:label", "--",
                                               "sh", "-c", "echo \"$SANDBOX_LOCK_TOKEN\""});
    CHECK(run.wait() == 0);
    CHECK(run.out().find("\"label\":\"a # b, c\"") != std::string::npos);
}

TEST_CASE("REDIS_URL counts where nothing else names the store") {
    auto& redis = shared_redis();
    const std::string there = "REDIS_URL=" + redis.url();
    const std::string nowhere = "REDIS_URL=redis://127.0.0.1:1";
    CHECK(sandbox_lock("", {"agent:url", "--", "true"}, {.environment = {there}}).wait() == 0);
    CHECK(sandbox_lock("", {"agent:url", "--", "true"}, {.environment = {nowhere}}).wait() == 69);
    CHECK(
        sandbox_lock(redis.url(), {"agent:url", "--", "true"}, {.environment = {nowhere}}).wait() ==
        0);
}

TEST_CASE("a bad value is blamed on the place where it stands") {
    auto run =
        sandbox_lock("", {"agent:x", "--", "true"}, {.environment = {"SANDBOX_LOCK_WAIT=x"}});
    CHECK(run.wait() == 78);
    CHECK(run.err().find("SANDBOX_LOCK_WAIT: 'x'") != std::string::npos);
    auto url = sandbox_lock("", {"agent:x", "--", "true"}, {.environment = {"REDIS_URL=x"}});
    CHECK(url.wait() == 78);
    CHECK(url.err().find("REDIS_URL: 'x'") != std::string::npos);
}

TEST_CASE("options stop at the first operand after KEY; -c takes a string") {
    auto& redis = shared_redis();
    const auto out = [&](const std::vector<std::string>& arguments) {
        auto run = sandbox_lock(redis.unix_url(), arguments, {.environment = {"SHELL=/bin/sh"}});
        CHECK(run.wait() == 0);
        CHECK(run.err().empty());
        return run.out();
    };
    CHECK(out({"agent:o", "echo", "-n", "-w", "--no-such", "--", "x"}) == "-w --no-such -- x");
    CHECK(out({"agent:o", "-w", "5", "echo", "-v"}) == "-v\n");
    CHECK(out({"--", "agent:o", "echo", "x"}) == "x\n");
    CHECK(out({"--", "agent:o", "--", "echo", "x"}) == "x\n");
    CHECK(out({"agent:o", "echo", "--label="}) == "--label=\n");
    CHECK(out({"agent:o", "--", "printf", "%s", "--help"}) == "--help");
    CHECK(out({"agent:o", "-c", "echo a; echo b"}) == "a\nb\n");
    CHECK(out({"-c", "echo a b", "agent:o"}) == "a b\n");
    CHECK(out({"-nxeo", "agent:o", "echo", "x"}) == "x\n");
    CHECK(out({"-nw5", "agent:o", "echo", "x"}) == "x\n");
}

TEST_CASE("cleanup commands: those of the strongest place, all of them, in their order") {
    const TempDir dir;
    write_file(dir / "sandbox-lock.toml", "cleanup = [\"echo f1\", \"echo 'f2, x'\"]\n");
    const std::string home = "XDG_CONFIG_HOME=" + (dir / "");
    const std::string variable = "SANDBOX_LOCK_CLEANUP=echo e";
    const auto said = [](std::vector<std::string> options, std::vector<std::string> environment) {
        options.insert(options.end(), {"agent:cleanups", "--", "true"});
        auto run = sandbox_lock(shared_redis().unix_url(), options, {.environment = environment});
        CHECK(run.wait() == 0);
        return run.err();
    };
    CHECK(said({}, {home}) == "f1\nf2, x\n");
    CHECK(said({}, {home, variable}) == "e\n");
    CHECK(said({"--cleanup", "echo o1", "--cleanup=echo o2"}, {home, variable}) == "o1\no2\n");
}

TEST_CASE("a list in a configuration file is for settings that repeat") {
    const TempDir dir;
    write_file(dir / "sandbox-lock.toml", "label = [\"a\", \"b\"]\n");
    auto run = sandbox_lock(shared_redis().unix_url(),
                            {"--config", dir / "sandbox-lock.toml", "agent:x", "--", "true"});
    CHECK(run.wait() == 78);
    CHECK(run.err().find("'label' takes one value") != std::string::npos);
}
