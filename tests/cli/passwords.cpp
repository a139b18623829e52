#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

const std::string secret = "hunter2";

/// A server whose users are: `default` with the secret; `odd` with a password of special
/// characters.
struct GuardedServer {
    RedisServer redis;
    GuardedServer() {
        redis.command({"ACL", "SETUSER", "odd", "on", ">p:/@ %#?\xff", "~*", "+@all"});
        redis.command({"ACL", "SETUSER", "poor", "on", ">poor", "~other:*", "~{other:*", "+@all"});
        redis.command({"ACL", "SETUSER", "default", "resetpass", ">" + secret});
    }
    [[nodiscard]] std::string url(const std::string& login) const {
        return "redis://" + login + "@127.0.0.1:" + redis.port();
    }
};

int status_with(const std::string& url, const std::vector<std::string>& environment = {},
                std::vector<std::string> options = {}, std::string* err = nullptr) {
    options.insert(options.end(), {"agent:login", "--", "true"});
    auto run = sandbox_lock(url, options, {.environment = environment});
    const int status = run.wait();
    CHECK(run.err().find(secret) == std::string::npos);
    if (err != nullptr) *err = run.err();
    return status;
}

}  // namespace

TEST_CASE("logins that go well, and refusals told apart from a server that is down") {
    const GuardedServer server;
    const auto bare = "redis://127.0.0.1:" + server.redis.port();
    CHECK(status_with(server.url(":" + secret)) == 0);
    CHECK(status_with(server.url("default:" + secret)) == 0);
    CHECK(status_with(server.url("odd:p%3A%2F%40%20%25%23%3F%ff")) == 0);
    CHECK(status_with("redis+unix://:" + secret + "@" + server.redis.socket()) == 0);
    CHECK(status_with(bare, {"REDISCLI_AUTH=" + secret}) == 0);

    std::string err;
    CHECK(status_with(bare, {}, {}, &err) == 77);
    CHECK(err.find("wants a login") != std::string::npos);
    CHECK(status_with(server.url(":wrong"), {}, {}, &err) == 77);
    CHECK(err.find("refused the user name or password") != std::string::npos);
    CHECK(status_with(server.url("nobody:" + secret)) == 77);
    CHECK(status_with(server.url("poor:poor"), {}, {}, &err) == 77);
    CHECK(err.find("lacks a right") != std::string::npos);
    CHECK(status_with(server.url("poor:poor"), {}, {"--key-prefix", "other"}) == 0);
    CHECK(status_with(server.url(":" + secret) + "/99", {}, {}, &err) == 78);
    CHECK(err.find("no such database") != std::string::npos);
    CHECK(status_with("redis://:" + secret + "@127.0.0.1:1") == 69);
}

TEST_CASE("--password-file: its first line; one that everybody may read is refused") {
    const GuardedServer server;
    const TempDir dir;
    const std::string file = dir / "password";
    write_file(file, secret + "\nmore\n");
    const auto bare = "redis://127.0.0.1:" + server.redis.port();
    chmod(file.c_str(), 0600);
    CHECK(status_with(bare, {}, {"--password-file", file}) == 0);
    chmod(file.c_str(), 0644);
    std::string err;
    CHECK(status_with(bare, {}, {"--password-file", file}, &err) == 78);
    CHECK(err.find("chmod") != std::string::npos);
    write_file(file, "\n");
    chmod(file.c_str(), 0600);
    CHECK(status_with(bare, {}, {"--password-file", file}) == 78);
}

TEST_CASE(
    "a password on the command line works, is wiped from argv everywhere, and earns a warning") {
    const GuardedServer server;
    for (const bool joined : {false, true}) {
        const auto url = server.url(":" + secret);
        std::vector<std::string> arguments = joined ? std::vector<std::string>{"--store=" + url}
                                                    : std::vector<std::string>{"--store", url};
        // The command's own words are not ours to touch.
        arguments.insert(arguments.end(), {"agent:argv", "--", "sh", "-c",
                                           "echo in; exec sleep 1000", "--store", "x://a:b@c"});
        auto run = sandbox_lock("", arguments);
        REQUIRE(eventually([&] { return run.out() == "in\n"; }));
        CHECK(run.err().find("seen by everybody") != std::string::npos);
        CHECK(run.err().find(secret) == std::string::npos);
        for (const pid_t pid : {run.pid(), children_of(run.pid()).at(0)}) {
            const auto line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
            CHECK(line.find(secret) == std::string::npos);
            CHECK(line.find("***@127.0.0.1") != std::string::npos);
            CHECK(line.find("x://a:b@c") != std::string::npos);
        }
        run.signal(SIGTERM);
        CHECK(run.wait() == 143);
    }
}

TEST_CASE("a password is in no message, whatever is wrong") {
    for (const std::string url :
         {"redis://u:hunter2@h:x", "redis://u:hunter2@[::1", "rediss://u:hunter2@127.0.0.1:1",
          "u:hunter2@h", "redis://:hunter2@127.0.0.1:1", "redis://:hunter2@no.such.host.invalid"}) {
        for (const char* format : {"text", "json"}) {
            CHECK(status_with(url, {}, {"-v", "--log-format", format}) != 0);
            CHECK(status_with("", {}, {"-v", "--log-format", format, "--store", url}) != 0);
        }
    }
}
