#include "run/order.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;

TEST_CASE("an order comes through whole") {
    const run::Order order{
        {"a", "", std::string("b\0c", 3), std::string(300000, 'x')},
        {"A=1", "B=\n"},
        "goodbye\n",
        guard::Deadline{5s},
        1s,
        7ms,
        true,
        false,
        container::Target{true, false, {"docker", "-H", "x"}, {"-u", "1"}, "box", "m"},
        {"first", "second\n"},
        3s,
        79,
        256};
    const auto back = run::Order::deserialized(order.serialized());
    CHECK(back.command == order.command);
    CHECK(back.environment == order.environment);
    CHECK(back.last_words == order.last_words);
    CHECK(back.deadline == order.deadline);
    CHECK(back.margin == order.margin);
    CHECK(back.grace == order.grace);
    CHECK(back.own_group);
    CHECK_FALSE(back.wait_descendants);
    REQUIRE(back.container);
    CHECK(back.container->is_exec);
    CHECK_FALSE(back.container->removes);
    CHECK(back.container->client == order.container->client);
    CHECK(back.container->as_user == order.container->as_user);
    CHECK(back.container->name == "box");
    CHECK(back.container->mark == "m");
    CHECK(back.cleanups == order.cleanups);
    CHECK(back.cleanup_timeout == 3s);
    CHECK(back.status_if_lost == 79);
    CHECK(back.wait_status == 256);
}
