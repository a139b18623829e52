#include "bench/aims.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;
using Figure = std::optional<double>;

Figure at(const Json& figures, const std::string& path) {
    const Json::json_pointer pointer{path};
    if (!figures.contains(pointer)) return {};
    return figures.at(pointer).get<double>();
}

Figure quotient(Figure above, Figure below) {
    if (!above || !below || *below <= 0) return {};
    return *above / *below;
}

/// The median of a tool with so many waiters.
Figure handover(const Json& figures, int waiters, const std::string& tool) {
    for (const auto& size : figures.value("handover", Json::array()))
        if (size["waiters"] == waiters) return at(size, "/tools/" + tool + "/ms/median");
    return {};
}

/// The worst at any number of waiters.
Figure most(const Json& figures, const std::string& path) {
    Figure worst;
    for (const auto& size : figures.value("handover", Json::array()))
        if (const auto figure = at(size, "/tools/redis" + path))
            worst = std::max(worst.value_or(*figure), *figure);
    return worst;
}

}  // namespace

Json aims_in(const Json& figures) {
    Json aims = Json::array();
    const auto add = [&](const char* what, double limit, Figure measured, double unit = 1) {
        if (!measured) return;
        const double value = *measured / unit;
        aims.push_back(
            {{"what", what}, {"limit", limit}, {"measured", value}, {"met", value <= limit}});
    };
    add("start-up: times flock's", 1.15, at(figures, "/start/tools/flock/ratio/median"));
    add("start-up: times the poller's", 1.5, at(figures, "/start/tools/poller/ratio/median"));
    add("start-up: million instructions", 0.7, at(figures, "/start/tools/redis/instructions/sum"),
        1e6);
    const auto at_30 = handover(figures, 30, "redis");
    add("hand-over: times flock's, with 30 waiters", 1.2,
        quotient(at_30, handover(figures, 30, "flock")));
    add("hand-over: with 1000 waiters, times that with 30", 1.5,
        quotient(handover(figures, 1000, "redis"), at_30));
    add("hand-over: requests to the server, at most", 8, most(figures, "/commands/requests"));
    add("a waiter: MiB of memory, at most", 6, most(figures, "/waiter_kib"), 1024);
    return aims;
}

}  // namespace bench
