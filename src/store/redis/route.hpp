#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/report.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/endpoint.hpp"
#include "store/store.hpp"
#include "store/url.hpp"

namespace store::redis {

/// What an error reply says about the way to the server.
enum class Turn {
    none,       ///< nothing: the reply is for whoever asked
    elsewhere,  ///< another server serves this; `open` leads to it now
    gone,       ///< the server is no more what it was; `open` may lead to another
    aside,      ///< `open_aside` leads to the server for this one request
};

/// The way to the server that has a slot, and to the one that has it after a failover.
class Route {
public:
    virtual ~Route() = default;

    /// A connection to the server. Errors name the server where it is not the URL's.
    virtual guard::Result<Connection> open(guard::Deadline until, guard::Poller& poller) = 0;

    /// Heeds an error reply of the server that `open` led to. What it makes a turn of was not
    /// executed there.
    virtual Turn heed(std::string_view error_reply) = 0;

    /// After `Turn::aside`: a connection that is ready for the request.
    virtual guard::Result<Connection> open_aside(guard::Deadline until, guard::Poller& poller) = 0;

    /// Finds out what other servers there are, for the day on which this one is gone.
    virtual guard::Result<guard::Done> explore(Connection& connection, guard::Deadline until,
                                               guard::Poller& poller) = 0;

    /// Whether another server may take over from one that is down.
    [[nodiscard]] virtual bool fails_over() const noexcept = 0;
    /// For how long yet the server that `open` led to is one that has taken over just now, so that
    /// those who held leases at its predecessor come first.
    [[nodiscard]] virtual guard::Duration fresh_for() const noexcept = 0;
    /// The server that `open` led to the last time; before that, where it will look first.
    [[nodiscard]] virtual const Endpoint& server() const noexcept = 0;
    /// The servers that have keys, one by one: all masters of a cluster, so far as is known.
    [[nodiscard]] virtual std::vector<Endpoint> masters() const = 0;

    /// For messages, without user and password.
    [[nodiscard]] virtual std::string text() const = 0;
};

/// The route that the URL's scheme asks for.
[[nodiscard]] guard::Result<std::unique_ptr<Route>> route_by(const Url& url, const Access& access,
                                                             const guard::Reporter& reporter);

}  // namespace store::redis
