// The user of `doctor --acl`, made as printed, on a real server.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

using Words = std::vector<std::string>;

std::string printed(const std::string& prefix, const std::string& store = "redis://h") {
    auto doctor = sandbox_lock(store, {"doctor", "--acl", "--key-prefix", prefix});
    REQUIRE(doctor.wait() == 0);
    return doctor.out();
}

std::string command_in(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

/// What redis-cli answers to a line that is pasted into it.
std::string pasted(const RedisServer& redis, const std::string& line) {
    Process cli({"redis-cli", "-s", redis.socket()}, {.input = line + "\n"});
    cli.wait();
    return cli.out();
}

/// The answer to one command of the user with few rights.
std::string as_user(const RedisServer& redis, const Words& command) {
    Words argv{"redis-cli",    "-s",     redis.socket(), "--user",
               "sandbox-lock", "--pass", "PASSWORD",     "--no-auth-warning"};
    argv.insert(argv.end(), command.begin(), command.end());
    Process cli(argv);
    cli.wait();
    return cli.out();
}

/// The user's own store, and what it runs there.
struct User {
    const RedisServer& redis;
    std::string prefix = "agentscope:sandbox:lock:";

    [[nodiscard]] Process run(Words arguments) const {
        // After the word of status, break and doctor.
        const bool is_word = arguments.front().find(':') == std::string::npos;
        arguments.insert(arguments.begin() + (is_word ? 1 : 0), {"--key-prefix", prefix});
        return sandbox_lock("redis+unix://sandbox-lock:PASSWORD@" + redis.socket(), arguments);
    }
    [[nodiscard]] nlohmann::json status(const std::string& slot) const {
        auto process = run({"status", "--json", slot});
        CAPTURE(process.err());
        REQUIRE(process.wait() == 0);
        return nlohmann::json::parse(process.out()).at("slots").at(0);
    }
};

/// Waits, holds, renews, releases, and is taken away, all by that user.
void check_whole_run(const User& user, const std::string& slot) {
    CAPTURE(slot);
    auto holder = user.run({slot, "--lease-ttl", "2s", "--", "sh", "-c", "echo in; exec sleep 99"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    const auto left = [&] { return user.status(slot).at("ttl_ms").get<int>(); };
    CHECK(eventually([&] { return left() < 1700; }));
    CHECK(eventually([&] { return left() > 1700; }));
    auto waiter = user.run({slot, "--", "true"});
    REQUIRE(eventually([&] { return user.status(slot).at("waiters") == 1; }));
    auto list = user.run({"status"});
    CHECK(list.wait() == 0);
    CHECK(list.out().find(slot) != std::string::npos);
    auto breaker = user.run({"break", "--token", user.status(slot).at("token"), slot});
    CHECK(breaker.wait() == 0);
    CHECK(holder.wait() == 79);
    CHECK(waiter.wait() == 0);
    CHECK(user.status(slot).at("state") == "free");
}

/// The rules of a printed command.
Words rules_in(const std::string& command) {
    std::istringstream stream{command};
    Words rules;
    for (std::string word; stream >> word;)
        if (word.starts_with('+') || word.starts_with('~') || word.starts_with('&'))
            rules.push_back(word);
    return rules;
}

std::string without(const std::string& command, const std::string& rule) {
    auto text = command + " ";
    return text.erase(text.find(" " + rule + " "), rule.size() + 1);
}

}  // namespace

TEST_CASE("doctor --acl: the printed command makes a user for whom all works") {
    RedisServer redis({"--appendonly", "yes"});
    const auto text = printed("agentscope:sandbox:lock:");
    REQUIRE(pasted(redis, command_in(text)).find("OK") == 0);
    for (std::string rest = text.substr(text.find('\n') + 1); !rest.empty();
         rest.erase(0, rest.find('\n') + 1))
        CHECK(rest.starts_with("#"));

    const User user{redis};
    check_whole_run(user, "agent:a b");
    check_whole_run(user, "agent:{tag}*");
    auto doctor = user.run({"doctor"});
    CHECK(doctor.wait() == 0);
    CAPTURE(doctor.out());
    CHECK(doctor.out().find("sandbox-lock'") != std::string::npos);
    CHECK(doctor.out().find("PASSWORD") == std::string::npos);
}

TEST_CASE("doctor --acl: a database needs one right more") {
    RedisServer redis;
    pasted(redis, command_in(printed("p:", "redis://h/3")));
    CHECK(as_user(redis, {"-n", "3", "GET", "p:x"}) == "\n");
    CHECK(printed("p:").find("select") == std::string::npos);
    CHECK(printed("p:", "redis://ci@h").find("ci") == std::string::npos);
}

TEST_CASE("doctor --acl: odd prefixes, and nothing beside them") {
    RedisServer redis({"--appendonly", "yes"});
    for (const std::string prefix :
         {"a b:", "a*:", "[x]?:", "\"q'\\:", "{tag}:", "x{tag}y:", "br{ace:", "b}r:", "{}:",
          "j\xc3\xbc:", "\xff:", "^-]:", "a\tb:", "*:"}) {
        CAPTURE(prefix);
        pasted(redis, "ACL DELUSER sandbox-lock");
        REQUIRE(pasted(redis, command_in(printed(prefix))).find("OK") == 0);
        const User user{redis, prefix};
        auto doctor = user.run({"doctor"});
        CHECK(doctor.wait() == 0);
        CAPTURE(doctor.out());
        CHECK(doctor.out().find("OK messages") != std::string::npos);
        CHECK(doctor.out().find("OK tracking") != std::string::npos);
        CHECK(redis.keys().empty());
        CHECK(user.run({"agent:{y}z", "--", "true"}).wait() == 0);
        redis.command({"FLUSHALL"});

        CHECK(as_user(redis, {"SET", prefix + "agent:x", "v"}) == "OK\n");
        auto outside = std::vector<std::string>{"x", "x" + prefix, "{x}:" + prefix, "{" + prefix,
                                                prefix.substr(0, prefix.size() - 1) + ";"};
        for (std::size_t i = 0; i < prefix.size(); ++i) {
            outside.push_back(prefix);
            outside.back()[i] = 'z';
        }
        for (const auto& key : outside) {
            CAPTURE(key);
            CHECK(as_user(redis, {"SET", key, "v"}).find("NOPERM") == 0);
        }
        CHECK(as_user(redis, {"PUBLISH", "x", "v"}).find("NOPERM") == 0);
        CHECK(as_user(redis, {"CONFIG", "GET", "*"}).find("NOPERM") == 0);
        redis.command({"FLUSHALL"});
    }
}

TEST_CASE("doctor --acl: without one of its rights it works, or is refused by that right's name") {
    RedisServer redis;
    const auto command = command_in(printed("agentscope:sandbox:lock:"));
    const std::set<std::string> optional{
        "+subscribe", "+publish", "+client|tracking", "+info", "+lastsave", "+scan", "+wait"};
    const std::set<std::string> unnoticed{"+evalsha", "+role", "+cluster|slots", "+asking"};
    const User user{redis};
    for (const auto& rule : rules_in(command)) {
        CAPTURE(rule);
        pasted(redis, without(command, rule));
        redis.command({"SCRIPT", "FLUSH"});
        redis.command({"FLUSHALL"});
        auto alone = user.run({"agent:free", "--", "true"});
        alone.wait();
        // Whoever holds the slot has all rights.
        auto holder =
            sandbox_lock(redis.unix_url(), {"agent:x", "--", "sh", "-c", "echo in; exec sleep 99"});
        REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
        auto waiter = user.run({"agent:x", "--", "true"});
        CHECK(eventually([&] {
            return waiter.ended() ||
                   redis.command({"ZCARD", "{" + key_of("agent:x") + "}:presence"}) == "1";
        }));
        holder.signal(SIGTERM);
        waiter.wait();
        holder.wait();

        const bool for_braces = rule.find("{*}") != std::string::npos;
        const bool may_miss = optional.contains(rule) || unnoticed.contains(rule) ||
                              rule.starts_with('&') || for_braces;
        const auto said = rule.starts_with('~') ? "access" : "'" + rule.substr(1) + "'";
        bool refused = false;
        for (Process* run : {&alone, &waiter}) {
            CAPTURE(run->err());
            const int status = run->wait();
            CHECK((status == 0 || status == 77));
            refused = refused || status == 77;
            if (status == 77) CHECK(run->err().find(said) != std::string::npos);
        }
        CHECK(refused == !may_miss);
        auto doctor = user.run({"doctor", "-q"});
        // A server without persistence is a warning in any case.
        CHECK(doctor.wait() == (may_miss ? 1 : 2));
    }
}
