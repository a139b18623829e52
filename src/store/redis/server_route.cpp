#include "store/redis/server_route.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "store/redis/cluster.hpp"

namespace store::redis {
namespace {

using guard::Deadline;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;

class ServerRoute final : public Route {
public:
    explicit ServerRoute(Endpoint endpoint) : seed_(std::move(endpoint)), current_(seed_) {}

    Result<Connection> open(Deadline until, Poller& poller) override;
    Turn heed(std::string_view error_reply) override;
    Result<Connection> open_aside(Deadline until, Poller& poller) override;
    Result<Done> explore(Connection& connection, Deadline until, Poller& poller) override;
    bool fails_over() const noexcept override { return is_cluster_; }
    guard::Duration fresh_for() const noexcept override { return guard::Duration::zero(); }
    const Endpoint& server() const noexcept override { return current_; }
    std::vector<Endpoint> masters() const override;
    std::string text() const override { return seed_.text(); }

private:
    std::vector<Endpoint> all_nodes() const;
    /// The login of the URL at another node; an empty host is the current one's.
    Result<Endpoint> at(HostPort server) const {
        if (server.host.empty()) server.host = current_.host;
        return seed_.at(server, seed_.port);
    }
    Error named(const Endpoint& endpoint, Error error) const {
        if (!same(endpoint, seed_) && error.fault != Fault::interrupted)
            error.text = "node " + host_and_port(endpoint.host, endpoint.port) + ": " + error.text;
        return error;
    }
    static bool same(const Endpoint& one, const Endpoint& other) {
        return one.host == other.host && one.port == other.port && one.unix_path == other.unix_path;
    }

    Endpoint seed_;     ///< the URL's
    Endpoint current_;  ///< where the last MOVED has led
    Endpoint aside_;    ///< where the last ASK leads
    std::vector<Endpoint> nodes_;
    std::size_t masters_ = 0;  ///< the first of the nodes
    bool is_cluster_ = false;
    bool is_named_ = false;  ///< the current one, by another node, and not tried since
};

/// To the node that another one has just named. Else to the one that was right the last time, and
/// where that fails, to any: it knows who is right now.
Result<Connection> ServerRoute::open(Deadline until, Poller& poller) {
    std::vector<Endpoint> candidates = all_nodes();
    const bool is_named = std::exchange(is_named_, false);
    Error last{Fault::internal, ""};
    const std::size_t tried = is_named ? 1 : candidates.size();
    for (std::size_t i = 0; i < tried; ++i) {
        const auto share = guard::first_share(until, tried - i);
        auto connection = Connection::open(candidates[i], share, poller);
        if (connection) {
            current_ = candidates[i];
            return connection;
        }
        last = named(candidates[i], connection.error());
        if (last.fault != Fault::unreachable) break;
    }
    // A node that is silent is not to take up the time of the next try, too.
    if (candidates.size() > 1) current_ = candidates[1];
    return last;
}

/// Each once, the current one first.
std::vector<Endpoint> ServerRoute::all_nodes() const {
    std::vector<Endpoint> all{current_};
    const auto add = [&](const Endpoint& endpoint) {
        if (std::ranges::none_of(all, [&](const auto& one) { return same(one, endpoint); }))
            all.push_back(endpoint);
    };
    add(seed_);
    std::ranges::for_each(nodes_, add);
    return all;
}

Turn ServerRoute::heed(std::string_view error_reply) {
    const auto redirection = redirection_in(error_reply);
    if (!redirection) return Turn::none;
    is_cluster_ = true;
    auto endpoint = at(redirection->server);
    if (!endpoint) return Turn::none;
    is_named_ = !redirection->once;
    (redirection->once ? aside_ : current_) = std::move(*endpoint);
    return redirection->once ? Turn::aside : Turn::elsewhere;
}

Result<Connection> ServerRoute::open_aside(Deadline until, Poller& poller) {
    auto connection = Connection::open(aside_, until, poller);
    if (!connection) return named(aside_, connection.error());
    constexpr std::array<std::string_view, 1> asking{"ASKING"};
    const auto reply = connection->request(asking, until, poller);
    if (!reply) return named(aside_, reply.error());
    return connection;
}

Result<Done> ServerRoute::explore(Connection& connection, Deadline until, Poller& poller) {
    constexpr std::array<std::string_view, 2> command{"CLUSTER", "SLOTS"};
    const auto reply = connection.request(command, until, poller);
    if (!reply) return reply.error();
    // An error reply is that of a server which is no cluster's, or of a right that is missing.
    if ((*reply)->type != REDIS_REPLY_ARRAY) return Done{};
    is_cluster_ = true;
    nodes_.clear();
    masters_ = 0;
    for (const auto& node : nodes_in(**reply)) {
        auto endpoint = at(node.server);
        if (!endpoint) continue;
        nodes_.push_back(std::move(*endpoint));
        if (node.is_master) masters_ = nodes_.size();
    }
    return Done{};
}

std::vector<Endpoint> ServerRoute::masters() const {
    if (masters_ == 0) return {current_};
    return {nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(masters_)};
}

}  // namespace

std::unique_ptr<Route> route_to(Endpoint endpoint) {
    return std::make_unique<ServerRoute>(std::move(endpoint));
}

}  // namespace store::redis
