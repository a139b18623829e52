#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string says;  ///< names the option or key, and the accepted form
};

std::string words(const std::vector<std::string>& arguments) {
    std::string text;
    for (const auto& word : arguments) text += "'" + word + "' ";
    return text;
}

}  // namespace

TEST_CASE("bad input: one clear line, the right status, nothing entered in the store") {
    RedisServer redis;
    const TempDir dir;
    write_file(dir / "unknown.toml", "lease_ttl = 5\n");
    write_file(dir / "bad.toml", "wait = \"x\"\n");
    write_file(dir / "table.toml", "[store]\nurl = \"x\"\n");
    write_file(dir / "many.toml", "wait = [1, 2]\n");
    const std::vector<Case> cases{
        {{}, 64, "no KEY"},
        {{"--"}, 64, "no KEY"},
        {{"", "--", "true"}, 64, "session:VALUE"},
        {{"agent", "true"}, 64, "session:VALUE"},
        {{"agent:", "true"}, 64, "session:VALUE"},
        {{"agent:   ", "true"}, 64, "session:VALUE"},
        {{"job:x", "true"}, 64, "unknown scope"},
        {{"-v", "status"}, 64, "session:VALUE"},
        {{"agent:x"}, 64, "no COMMAND"},
        {{"agent:x", "--"}, 64, "no COMMAND"},
        {{"agent:x", "-c", "true", "true"}, 64, "exclude each other"},
        {{"-c", "true", "agent:x", "--", "true"}, 64, "exclude each other"},
        {{"-E", "600", "agent:x", "true"},
         64,
         "-E/--conflict-exit-code: '600' is not accepted: use 0 to 255"},
        {{"-E", "-1", "agent:x", "true"}, 64, "-E/--conflict-exit-code"},
        {{"-E", "x", "agent:x", "true"}, 64, "0 to 255"},
        {{"-w", "x", "agent:x", "true"}, 64, "-w/--wait: 'x' is not accepted: use seconds"},
        {{"-w", "-1", "agent:x", "true"}, 64, "-w/--wait"},
        {{"-w"}, 64, "--wait"},
        {{"--lease-ttl", "0", "agent:x", "true"}, 64, "--lease-ttl"},
        {{"--lease-ttl", "100ms", "agent:x", "true"},
         64,
         "--lease-ttl 100ms: too short to renew: use 1s or more"},
        {{"--lease-ttl", "100ms", "--no-renew", "agent:x", "true"}, 64, "use 1s or more"},
        {{"--cleanup", "", "agent:x", "true"}, 64, "--cleanup"},
        {{"--cleanup", "true", "--cleanup", "", "agent:x", "true"}, 64, "--cleanup"},
        {{"--cleanup-timeout", "0", "agent:x", "true"}, 64, "--cleanup-timeout"},
        {{"--linger", "x", "agent:x", "true"}, 64, "--linger: 'x' is not accepted"},
        {{"--container", "-f", "agent:x", "docker", "exec", "box", "true"},
         64,
         "a container's name"},
        {{"--container", "box", "agent:x", "true"}, 64, "docker, podman or nerdctl"},
        {{"--container", "box", "agent:x", "docker", "exec", "other", "true"}, 64, "'other'"},
        {{"--container", "box", "agent:x", "-c", "docker exec box true"}, 64, "shell command"},
        {{"--container", "box", "--lease-ttl", "5s", "agent:x", "docker", "run", "i"},
         64,
         "use 10s or more"},
        {{"--on-lost", "maybe", "agent:x", "true"}, 64, "term or warn"},
        {{"--log-format", "xml", "agent:x", "true"}, 64, "text or json"},
        {{"--key-prefix", " ", "agent:x", "true"}, 64, "--key-prefix"},
        {{"--label=", "agent:x", "global", "true"}, 64, "--label needs a value"},
        {{"--wait=", "agent:x", "true"}, 64, "--wait needs a value"},
        {{"--no-such", "agent:x", "true"}, 64, "--no-such"},
        {{"-Z", "agent:x", "true"}, 64, "-Z"},
        {{"agent:x", "--no-such", "true"}, 64, "--no-such"},
        {{"-s", "agent:x", "true"}, 64, "shared"},
        {{"-q", "-v", "agent:x", "true"}, 64, "exclude each other"},
        {{"--store", "nonsense", "agent:x", "true"}, 78, "--store: 'nonsense' is no URL"},
        {{"--store", "http://x", "agent:x", "true"},
         78,
         "file:[DIR], redis://HOST, rediss://HOST, redis+unix:///PATH"},
        {{"--store", "file://host/dir", "agent:x", "true"}, 78, "file:DIR"},
        {{"--store", "file:/x?y", "agent:x", "true"}, 78, "file:DIR"},
        {{"--store", "file:/x%00y", "agent:x", "true"}, 78, "NUL"},
        {{"--store", "file:/nonexistent/x", "agent:x", "true"}, 69, "'/nonexistent/x'"},
        {{"--store", "file:/dev/null", "agent:x", "true"}, 78, "no directory"},
        {{"--store", "file:/proc/1", "agent:x", "true"}, 69, "/proc/1"},
        {{"--store", "redis://h:x", "agent:x", "true"}, 78, "port"},
        {{"--store", "", "agent:x", "true"}, 64, "--store"},
        {{"--store", "rediss://h:x", "agent:x", "true"}, 78, "port"},
        {{"--store", "redis://h", "--cacert", "/x", "agent:x", "true"}, 78, "write rediss://"},
        {{"--tls-insecure=maybe", "agent:x", "true"}, 64, "--tls-insecure"},
        {{"--key"}, 64, "--tls-key"},
        {{"--config", "/nonexistent/file", "agent:x", "true"}, 78, "/nonexistent/file"},
        {{"--config", "/", "agent:x", "true"}, 78, "cannot read"},
        {{"--config", dir / "unknown.toml", "agent:x", "true"}, 78, "unknown setting 'lease_ttl'"},
        {{"--config", dir / "bad.toml", "agent:x", "true"},
         78,
         "bad.toml': wait: 'x' is not accepted"},
        {{"--config", dir / "table.toml", "agent:x", "true"}, 78, "table"},
        {{"--config", dir / "many.toml", "agent:x", "true"}, 78, "one value"},
        {{"--password-file", "/nonexistent", "agent:x", "true"},
         78,
         "--password-file '/nonexistent'"},
    };
    for (const auto& [arguments, status, says] : cases) {
        CAPTURE(words(arguments));
        auto run = sandbox_lock(redis.unix_url(), arguments);
        CHECK(run.wait() == status);
        const auto err = run.err();
        CAPTURE(err);
        CHECK(err.starts_with("sandbox-lock: "));
        CHECK(std::ranges::count(err, '\n') == 1);
        CHECK(err.find(says) != std::string::npos);
        CHECK(run.out().empty());
    }
    CHECK(redis.keys().empty());
}

TEST_CASE("what cannot be run: 127 where there is none, 126 else; the slot is free again") {
    auto& redis = shared_redis();
    const TempDir dir;
    write_file(dir / "plain", "no program");
    const auto status = [&](const std::string& command) {
        auto run = sandbox_lock(redis.unix_url(), {"agent:none", "--", command});
        const int ended = run.wait();
        CHECK(run.err().find("cannot run '" + command + "'") != std::string::npos);
        CHECK_FALSE(redis.command({"GET", key_of("agent:none")}));
        return ended;
    };
    CHECK(status("no-such-program") == 127);
    CHECK(status(dir / "no-such-program") == 127);
    CHECK(status(dir / "plain") == 126);
    CHECK(status("/") == 126);
}

TEST_CASE("--help and --version answer on standard output and need no store") {
    for (const char* option : {"--help", "-h"}) {
        auto run = sandbox_lock("redis://127.0.0.1:1", {option});
        CHECK(run.wait() == 0);
        CHECK(run.out().find("Usage: sandbox-lock") != std::string::npos);
        CHECK(run.err().empty());
    }
    auto run = sandbox_lock("", {"--version"});
    CHECK(run.wait() == 0);
    CHECK(run.out().starts_with("sandbox-lock 0."));
}
