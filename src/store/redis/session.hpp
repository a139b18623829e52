#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scripts.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/route.hpp"

namespace store::redis {

/// The connection to the server that has a slot, made when it is needed, made again after it broke,
/// and made to another server when the slot has gone there.
class Session {
public:
    explicit Session(std::unique_ptr<Route> route) : route_(std::move(route)) {}

    /// Connects where that is not done yet.
    guard::Result<guard::Done> connect(guard::Deadline until, guard::Poller& poller);

    /// Runs a script, by `request`: EVALSHA, and EVAL where the server does not know it yet. The
    /// reply may be an error reply.
    guard::Result<Reply> evaluate(const Script& script, std::span<const std::string_view> keys,
                                  std::initializer_list<std::string_view> arguments,
                                  guard::Deadline until, guard::Poller& poller);

    /// Sends one command, connected or not, and to another server where this one says so: then the
    /// session is connected to that, or to none where that failed.
    guard::Result<Reply> request(std::span<const std::string_view> command, guard::Deadline until,
                                 guard::Poller& poller);
    guard::Result<Reply> request(std::initializer_list<std::string_view> command,
                                 guard::Deadline until, guard::Poller& poller) {
        return request(std::span(command.begin(), command.size()), until, poller);
    }
    /// `reply`, or an error reply as an error about this store.
    [[nodiscard]] guard::Result<Reply> accepted(guard::Result<Reply> reply) const;
    /// Whether the last reply came from a server that this session is not connected to, as the hash
    /// slot is being moved there.
    [[nodiscard]] bool answered_aside() const noexcept { return answered_aside_; }

    /// On a server that is connected: see Connection. An error breaks the connection.
    guard::Result<bool> subscribe(const std::string& channel, guard::Deadline until,
                                  guard::Poller& poller);
    guard::Result<bool> track(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] bool subscribed() const noexcept {
        return connection_ && connection_->subscribed();
    }
    [[nodiscard]] bool tracking() const noexcept { return connection_ && connection_->tracking(); }

    [[nodiscard]] bool in_cluster() const noexcept {
        return connection_ && (connection_->in_cluster() || route_->fails_over());
    }

    /// Finds out, once for each connection, what other servers there are.
    guard::Result<guard::Done> explore(guard::Deadline until, guard::Poller& poller);

    /// Waits for the time, until interrupted, until there is a message, or until the server closes
    /// the connection. The last two are `ready`; after a close the session is not connected any
    /// more.
    guard::Wake idle(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] bool connected() const noexcept { return connection_.has_value(); }
    [[nodiscard]] Reply next_push() noexcept {
        return connection_ ? connection_->next_push() : nullptr;
    }

    /// Nothing where the connection is a plain one, or there is none.
    [[nodiscard]] std::optional<TlsFacts> tls() const {
        return connection_ ? connection_->tls() : std::nullopt;
    }

    void drop() noexcept { connection_.reset(); }

    /// How many connections there have been: another one may lead to another server.
    [[nodiscard]] int connections() const noexcept { return connections_; }
    [[nodiscard]] const Route& route() const noexcept { return *route_; }

    /// An error about this store, for a person.
    [[nodiscard]] guard::Error named(guard::Error error) const;
    [[nodiscard]] std::string text() const { return route_->text(); }

private:
    guard::Result<Reply> request_aside(std::span<const std::string_view> command,
                                       guard::Deadline until, guard::Poller& poller);

    std::unique_ptr<Route> route_;
    std::optional<Connection> connection_;
    int connections_ = 0;
    int explored_ = 0;  ///< the last connection on which that was done
    bool answered_aside_ = false;
};

}  // namespace store::redis
