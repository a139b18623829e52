#include "store/redis/cluster.hpp"

#include <doctest/doctest.h>

#include <string>

#include "store/redis/keys.hpp"
#include "store/redis/replies.hpp"

using namespace store::redis;

TEST_CASE("redirections of a cluster's node") {
    const auto moved = redirection_in("MOVED 3999 127.0.0.1:6381");
    REQUIRE(moved);
    CHECK_FALSE(moved->once);
    CHECK(moved->server.host == "127.0.0.1");
    CHECK(moved->server.port == "6381");
    const auto ask = redirection_in("ASK 3999 2001:db8::1:6381");
    REQUIRE(ask);
    CHECK(ask->once);
    CHECK(ask->server.host == "2001:db8::1");
    CHECK(ask->server.port == "6381");
    CHECK(redirection_in("MOVED 3999 :6381")->server.host.empty());
    for (const char* text : {"", "MOVED", "MOVED 3999", "MOVED 3999 host", "MOVEDX 1 a:1",
                             "TRYAGAIN Multiple keys request during rehashing of slot", "ERR x:1"})
        CHECK_FALSE(redirection_in(text));
}

TEST_CASE("hash slots as the server has them") {
    // From CLUSTER KEYSLOT.
    CHECK(hash_slot("123456789") == 12739);
    CHECK(hash_slot("foo") == 12182);
    CHECK(hash_slot("{foo}bar") == 12182);
    CHECK(hash_slot("a{foo}b{c}") == 12182);
    CHECK(hash_slot("") == 0);
    CHECK(hash_tag("a{}b{c}").empty());
    CHECK(hash_tag("a}b{c}") == "c");
    CHECK(hash_tag("{{x}}") == "{x");
}

TEST_CASE("companion keys are in the slot's own hash slot, and start with a brace") {
    for (const char* value : {"a", "a{b}c", "{b}", "a{b", "a}b", "a{}b", "}{", "{}", "{}{x}",
                              "a}{b}", "{{x}}", "日本}"}) {
        const std::string key = "agentscope:sandbox:lock:agent:" + std::string(value);
        const CompanionKeys companions(key);
        CAPTURE(key);
        for (const auto& name :
             {companions.fence, companions.queue, companions.presence, companions.mixed}) {
            CAPTURE(name);
            CHECK(hash_slot(name) == hash_slot(key));
            CHECK(name.starts_with('{'));
            CHECK(name.find(key) != name.npos);
        }
    }
}
