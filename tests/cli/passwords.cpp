#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/secret.hpp"

using namespace support;

namespace {

const std::string secret{secret_mark};

/// A server whose users are: `default` with the secret; `odd` with a password of special
/// characters.
struct GuardedServer {
    RedisServer redis;
    GuardedServer() {
        redis.command({"ACL", "SETUSER", "odd", "on", ">p:/@ %#?\xffhunter2", "~*", "+@all"});
        redis.command(
            {"ACL", "SETUSER", "poor", "on", ">poor-hunter2", "~other:*", "~{other:*", "+@all"});
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
    if (err != nullptr) *err = run.err();
    return status;
}

}  // namespace

TEST_CASE("logins that go well, and refusals told apart from a server that is down") {
    const GuardedServer server;
    const auto bare = "redis://127.0.0.1:" + server.redis.port();
    CHECK(status_with(server.url(":" + secret)) == 0);
    CHECK(status_with(server.url("default:" + secret)) == 0);
    CHECK(status_with(server.url("odd:p%3A%2F%40%20%25%23%3F%ffhunter2")) == 0);
    CHECK(status_with("redis+unix://:" + secret + "@" + server.redis.socket()) == 0);
    CHECK(status_with(bare, {"REDISCLI_AUTH=" + secret}) == 0);

    std::string err;
    CHECK(status_with(bare, {}, {}, &err) == 77);
    CHECK(err.find("wants a login") != std::string::npos);
    CHECK(status_with(server.url(":wrong-hunter2"), {}, {}, &err) == 77);
    CHECK(err.find("refused the user name or password") != std::string::npos);
    CHECK(status_with(server.url("nobody:" + secret)) == 77);
    CHECK(status_with(server.url("poor:poor-hunter2"), {}, {}, &err) == 77);
    CHECK(err.find("lacks a right") != std::string::npos);
    CHECK(status_with(server.url("poor:poor-hunter2"), {}, {"--key-prefix", "other"}) == 0);
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
        for (const pid_t pid : {run.pid(), children_of(run.pid()).at(0)}) {
            const auto line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
            CHECK(line.find("***@127.0.0.1") != std::string::npos);
            CHECK(line.find("x://a:b@c") != std::string::npos);
        }
        run.signal(SIGTERM);
        CHECK(run.wait() == 143);
    }
}

// That no password shows in what a process writes, or in its arguments, is support::Process's own
// check. These are the ways to make one show.
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

TEST_CASE("a password that stands where none belongs is in no message either") {
    const std::string url = "redis://u:hunter2@h";
    const std::vector<std::vector<std::string>> lines{
        {url, "agent:x", "--", "true"},
        {"--stroe=" + url, "agent:x", "--", "true"},
        {"--password=hunter2", "agent:x", "--", "true"},
        {"--password", "hunter2", "agent:x", "--", "true"},
        {"--lease-ttl", url, "agent:x", "--", "true"},
        {"--config", url, "agent:x", "--", "true"},
        {"--password-file", url, "agent:x", "--", "true"},
        {"--store", "rediss://u:hunter2@h", "--cacert", "/nonexistent", "agent:x", "--", "true"},
        {"status", url},
        {"status", "--stroe=" + url},
        {"status", "--password=hunter2"},
        {"status", "--store", url + ":x"},
        {"break", url},
        {"break", "--password=hunter2", "agent:x"},
        {"break", "--store", url + ":x", "agent:x"},
        {"break", "--store=" + url, "agent:x", "agent:y"},
    };
    for (auto line : lines) {
        for (const char* format : {"text", "json"}) {
            auto words = line;
            words.insert(words.begin() + (line[0] == "status" || line[0] == "break" ? 1 : 0),
                         {"--log-format", format});
            auto run = sandbox_lock("", words);
            CHECK(run.wait() != 0);
            CHECK_FALSE(run.err().empty());
        }
    }
}

TEST_CASE("a password in a configuration file that cannot be used is in no message") {
    const TempDir dir;
    const std::string file = dir / "conf.toml";
    for (const std::string line :
         {"stor = \"redis://u:hunter2@h\"", "store: redis://u:hunter2@h",
          "store redis://u:hunter2@h", "redis://u:hunter2@h", "hunter2", "password: hunter2",
          "password = \"hunter2\"", "store = redis://u:hunter2@h redis://u:hunter2@i",
          "store = \"redis://u:hunter2@h:x\"",
          "store = [\"redis://u:hunter2@h\", \"redis://u:hunter2@i\"]",
          "[store]\nurl = \"redis://u:hunter2@h\"", "[redis://u:hunter2@h]\nx = 1",
          "lease-ttl = \"redis://u:hunter2@h\""}) {
        write_file(file, line + "\n");
        std::string err;
        CHECK(status_with("", {}, {"--config", file}, &err) == 78);
        CHECK(err.find(file) != std::string::npos);
    }
}

TEST_CASE("status and break show no password, whatever they find") {
    const GuardedServer server;
    const TempDir dir;
    const std::string file = dir / "password";
    write_file(file, secret + "\n");
    chmod(file.c_str(), 0600);
    const auto bare = "redis://127.0.0.1:" + server.redis.port();
    const std::vector<std::pair<std::string, std::vector<std::string>>> ways{
        {server.url(":" + secret), {}},
        {server.url(":wrong-" + secret), {}},
        {server.url("poor:poor-" + secret), {}},
        {bare, {"--password-file", file}},
        {"", {"--store", server.url(":" + secret)}},
        {"rediss://:hunter2@127.0.0.1:" + server.redis.port(), {}},
        {"redis://:hunter2@127.0.0.1:1", {}},
    };
    auto holder = sandbox_lock(server.url(":" + secret),
                               {"agent:login", "--", "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    for (const auto& [url, options] : ways)
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"status"},
              {"status", "--json"},
              {"status", "-v"},
              {"status", "agent:login"},
              {"status", "--log-format", "json", "-v"},
              {"break", "--token", "other", "agent:login"},
              {"break", "--log-format", "json", "-v", "agent:login"}}) {
            auto words = command;
            words.insert(words.begin() + 1, options.begin(), options.end());
            auto run = sandbox_lock(url, words);
            run.wait();
            CHECK_FALSE((run.out() + run.err()).empty());
        }
    auto watch = sandbox_lock("", {"status", "--watch", "--store", server.url(":" + secret)});
    REQUIRE(eventually([&] { return watch.out().find("agent:login") != std::string::npos; }));
    watch.signal(SIGTERM);
    watch.wait();
    CHECK_FALSE(holder.ended());
}
