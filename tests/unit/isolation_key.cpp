#include "guard/isolation_key.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <string>

using guard::IsolationKey;
using guard::Scope;

TEST_CASE("a key is a scope and a value, split at the first colon only") {
    const auto key = IsolationKey::parse("agent:code:agent/1 {x} Jürgen ");
    REQUIRE(key);
    CHECK(key->scope == Scope::agent);
    CHECK(key->value == "code:agent/1 {x} Jürgen ");
    CHECK(key->text() == "agent:code:agent/1 {x} Jürgen ");
    CHECK(guard::store_key("p:", *key) == "p:agent:code:agent/1 {x} Jürgen ");
}

TEST_CASE("scopes are matched without regard to case and written in lower case, in any locale") {
    (void)std::setlocale(LC_ALL, "tr_TR.UTF-8");
    for (const char* text : {"SESSION:x", "Session:x", "session:x"})
        CHECK(IsolationKey::parse(text)->text() == "session:x");
    CHECK(IsolationKey::parse("uSeR:I")->text() == "user:I");
    (void)std::setlocale(LC_ALL, "C");
}

TEST_CASE("global alone is a key") {
    CHECK(IsolationKey::parse("global")->text() == "global:__global__");
    CHECK(IsolationKey::parse("GLOBAL")->text() == "global:__global__");
    CHECK(IsolationKey::parse("global:other")->text() == "global:other");
}

TEST_CASE("bad keys are refused with the accepted form") {
    using namespace std::string_literals;
    for (const auto& text :
         {""s, "agent"s, "agent:"s, "agent: \t"s, ":x"s, "job:x"s, "agents:x"s, " agent:x"s,
          "status"s, "session"s, "agent:a\0b"s, "agent:\0"s, "global:"s}) {
        const auto key = IsolationKey::parse(text);
        REQUIRE_FALSE(key);
        CHECK(key.error().fault == guard::Fault::usage);
        CHECK(key.error().text.find("session:VALUE") != std::string::npos);
    }
}

TEST_CASE("a prefix gets its final colon; a blank one is refused") {
    CHECK(*guard::normal_prefix("agentscope:guard:") == "agentscope:guard:");
    CHECK(*guard::normal_prefix("agentscope:guard") == "agentscope:guard:");
    CHECK_FALSE(guard::normal_prefix(""));
    CHECK_FALSE(guard::normal_prefix("  "));
    CHECK_FALSE(guard::normal_prefix(std::string_view("a\0b", 3)));
}
