#include "chaos/permitted.hpp"

#include <algorithm>
#include <chrono>

namespace chaos {

using namespace std::chrono_literals;

std::optional<std::string_view> permitted(const Evidence& evidence, const Entry& earlier,
                                          const Entry& later) {
    const Duration ttl = earlier.run->ttl;
    const Time end = std::min(earlier.last, later.last);
    const auto explains = [&](const Done& done) {
        return done.kind == Kind::clock_forward && done.span.from <= later.start &&
               end <= done.span.to + ttl;
    };
    if (std::ranges::any_of(evidence.faults, explains)) return "the server's clock was set forward";
    const Span decisive{later.start - 300ms, end};
    const auto is_late = [&](const Span& stall) {
        return stall.length() >= margin_of(ttl) / 2 && stall.touches(decisive);
    };
    if (std::ranges::any_of(evidence.stalls, is_late)) return "the machine was too busy";
    return std::nullopt;
}

}  // namespace chaos
