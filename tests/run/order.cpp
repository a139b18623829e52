#include "run/order.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;

TEST_CASE("an order comes through whole") {
    const run::Order order{{"a", "", std::string("b\0c", 3), std::string(300000, 'x')},
                           {"A=1", "B=\n"},
                           "goodbye\n",
                           guard::Deadline{5s},
                           1s,
                           7ms,
                           true,
                           false};
    const auto back = run::Order::deserialized(order.serialized());
    CHECK(back.command == order.command);
    CHECK(back.environment == order.environment);
    CHECK(back.last_words == order.last_words);
    CHECK(back.deadline == order.deadline);
    CHECK(back.margin == order.margin);
    CHECK(back.grace == order.grace);
    CHECK(back.own_group);
    CHECK_FALSE(back.wait_descendants);
}
