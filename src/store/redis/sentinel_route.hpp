#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "store/redis/route.hpp"

namespace store::redis {

/// Who is asked for the server, and what for.
struct SentinelAddress {
    std::vector<Endpoint> sentinels;  ///< each with the sentinels' own login
    std::string master_name;
    Endpoint server;                    ///< login, database and TLS; the sentinels tell the host
    std::chrono::milliseconds youth{};  ///< for how long a master counts as new

    /// Reads `redis+sentinel://[user][:password]@host[:port],host[:port].../master-name[/db]`, and
    /// the same with `rediss`. The login in it is the server's.
    static guard::Result<SentinelAddress> from(const Url& url, const Access& access);
};

/// The route to the master that sentinels name.
[[nodiscard]] std::unique_ptr<Route> route_by_sentinels(SentinelAddress address);

}  // namespace store::redis
