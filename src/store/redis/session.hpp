#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "scripts.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/endpoint.hpp"

namespace store::redis {

/// One server and the connection to it, made when it is needed and made again after it broke.
class Session {
public:
    explicit Session(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

    /// Connects where that is not done yet.
    guard::Result<guard::Done> connect(guard::Deadline until, guard::Poller& poller);

    /// Runs a script on a server that is connected: EVALSHA, and EVAL where the server does not
    /// know it yet. `words` are the keys, then the arguments. The reply may be an error reply.
    guard::Result<Reply> evaluate(const Script& script, std::size_t key_count,
                                  std::initializer_list<std::string_view> words,
                                  guard::Deadline until, guard::Poller& poller);

    /// Sends one command to a server that is connected.
    guard::Result<Reply> request(std::initializer_list<std::string_view> command,
                                 guard::Deadline until, guard::Poller& poller);

    /// On a server that is connected: see Connection. An error breaks the connection.
    guard::Result<bool> subscribe(const std::string& channel, guard::Deadline until,
                                  guard::Poller& poller);
    guard::Result<bool> track(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] bool subscribed() const noexcept {
        return connection_ && connection_->subscribed();
    }
    [[nodiscard]] bool tracking() const noexcept { return connection_ && connection_->tracking(); }

    /// Waits for the time, until interrupted, until there is a message, or until the server closes
    /// the connection. The last two are `ready`; after a close the session is not connected any
    /// more.
    guard::Wake idle(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] bool connected() const noexcept { return connection_.has_value(); }
    [[nodiscard]] Reply next_push() noexcept {
        return connection_ ? connection_->next_push() : nullptr;
    }

    void drop() noexcept { connection_.reset(); }

    /// An error about this server, for a person.
    [[nodiscard]] guard::Error named(guard::Error error) const;
    [[nodiscard]] std::string text() const { return endpoint_.text(); }

private:
    Endpoint endpoint_;
    std::optional<Connection> connection_;
};

}  // namespace store::redis
