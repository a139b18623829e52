#include "guard/owner_card.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using guard::OwnerCard;

TEST_CASE("tokens are one line, unique, and give their card back") {
    const OwnerCard card{"host\n1", 42, "me", "2026-11-29T10:00:00Z", "a \"label\""};
    std::set<std::string> tokens;
    for (int i = 0; i < 1000; ++i) tokens.insert(guard::make_token(card));
    CHECK(tokens.size() == 1000);
    const std::string token = *tokens.begin();
    CHECK(token.find('\n') == token.npos);
    CHECK(token.starts_with("{\"id\":\""));
    const auto back = guard::read_card(token);
    REQUIRE(back);
    CHECK(back->text() == "a \"label\" (me@host\n1, pid 42, since 2026-11-29T10:00:00Z)");
}

TEST_CASE("a label that is no UTF-8 makes a token all the same") {
    const auto token = guard::make_token({"h", 1, "u", "s", "\xff\xfe"});
    CHECK(guard::read_card(token));
}

TEST_CASE("foreign tokens are described as what they are") {
    CHECK(guard::describe_holder("0b7f3bd8-1c1f-4f5e-9f0a-4b6f5a4f6a11").find("AgentScope") !=
          std::string::npos);
    CHECK(guard::describe_holder("foreign") == "another client (token foreign)");
    CHECK(guard::describe_holder("0b7f3bd8-1c1f-4f5e-9f0a-4b6f5a4f6a1g").find("AgentScope") ==
          std::string::npos);
    CHECK(guard::describe_holder(std::string(1000, 'x')).size() < 100);
    CHECK(guard::describe_holder("").find("others wait for it") != std::string::npos);
    CHECK(guard::describe_holder("{}") == "another client (token {})");
    CHECK(guard::describe_holder("[1").find("another client") == 0);
}

TEST_CASE("a card with fields of other types or missing ones is still readable") {
    CHECK(guard::read_card(R"({"id":1,"host":2,"pid":"x"})")->text() == "? (?@?, since ?)");
}

TEST_CASE("the card of this process never holds more than it is given") {
    const auto card = OwnerCard::of_this_process("label");
    CHECK(card.label == "label");
    CHECK(card.pid > 0);
    CHECK_FALSE(card.host.empty());
    CHECK_FALSE(card.user.empty());
    CHECK(card.since.size() == 20);
}
