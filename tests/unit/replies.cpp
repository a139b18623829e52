#include "store/redis/replies.hpp"

#include <doctest/doctest.h>

#include "guard/lease.hpp"
#include "store/redis/keys.hpp"

using guard::Fault;
using store::redis::CompanionKeys;
using store::redis::passes_by_itself;
using store::redis::plain_words;

TEST_CASE("error replies are told apart and named in plain words") {
    const auto fault = [](const char* reply) { return plain_words(reply).fault; };
    CHECK(fault("NOAUTH Authentication required.") == Fault::denied);
    CHECK(fault("WRONGPASS invalid username-password pair or user is disabled.") == Fault::denied);
    CHECK(fault("NOPERM this user has no permissions to run the 'evalsha' command") ==
          Fault::denied);
    CHECK(fault("ERR AUTH <password> called without any password configured") == Fault::denied);
    CHECK(fault("ERR DB index is out of range") == Fault::configuration);
    for (const char* reply :
         {"ERR The user executing the script can't run this command or subcommand",
          "@user_script: 12: The user executing the script can't access at least one of the keys",
          "ERR Error running script (call to f_0): @user_script:12: @user_script: 12: The user "
          "executing the script can't run this command or subcommand",
          "ERR ACL failure in script: User less has no permissions to run the 'get' command"})
        CHECK(fault(reply) == Fault::denied);
    for (const char* reply : {"LOADING Redis is loading the dataset in memory",
                              "READONLY You can't write", "OOM command", "BUSY Redis is busy",
                              "MASTERDOWN Link with MASTER is down", "ERR something new"}) {
        CHECK(fault(reply) == Fault::unreachable);
        CHECK(plain_words(reply).text.find(reply) != std::string::npos);
        CHECK(plain_words(reply).text.size() > std::string(reply).size() + 10);
    }
    // Of scripts: before Redis 7, and since.
    const auto old = plain_words(
        "ERR Error running script (call to f_0a): @user_script:7: NOPERM no right to 'zadd'");
    CHECK(old.fault == Fault::denied);
    CHECK(old.text.find("('NOPERM no right to 'zadd'')") != std::string::npos);
    CHECK(plain_words("OOM no memory script: 0a, on @user_script:7.")
              .text.find("('OOM no memory')") != std::string::npos);
    CHECK(
        passes_by_itself("ERR Error running script (call to f_0a): @user_script:7: NOREPLICAS x"));
    CHECK(passes_by_itself("LOADING x"));
    CHECK(passes_by_itself("BUSY x"));
    CHECK(
        passes_by_itself("ERR Error running script (call to f_0): @user_script:3: "
                         "@user_script: 3: -NOREPLICAS Not enough good replicas to write."));
    CHECK_FALSE(passes_by_itself("READONLY x"));
    CHECK_FALSE(passes_by_itself("ERR x"));
}

TEST_CASE("the fence shares the slot's hash slot") {
    CHECK(CompanionKeys("p:agent:x").fence == "{p:agent:x}:fence");
    CHECK(CompanionKeys("p:agent:{x}y").fence == "{x}:p:agent:{x}y:fence");
    CHECK(CompanionKeys("p:agent:{x").fence == "{p:agent:{x}:fence");
    CHECK(CompanionKeys("p:agent:a{}b{c}").fence == "{12537}:p:agent:a{}b{c}:fence");
    // No slot has the name of another one's fence.
    CHECK(CompanionKeys("p:agent:{x}y").fence != "p:agent:{x}y:fence");
}

TEST_CASE("a lease ends before its ttl does, counted from the asking") {
    using namespace std::chrono_literals;
    const guard::Deadline asked{100s};
    CHECK(guard::lease_end(asked, 30s) == asked + 30s - 30ms - 10ms);
    CHECK(guard::after(guard::never - 1s, 2s) == guard::never);
    CHECK(guard::after(asked, guard::Duration::max()) == guard::never);
}
