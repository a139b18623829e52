#pragma once

#include <memory>

#include "store/redis/route.hpp"

namespace store::redis {

/// The route to one server, or to a cluster by any of its nodes: one that turns out to be a
/// cluster's leads to the others.
[[nodiscard]] std::unique_ptr<Route> route_to(Endpoint endpoint);

}  // namespace store::redis
