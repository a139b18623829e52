#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <span>
#include <string_view>

#include "guard/poller.hpp"
#include "guard/result.hpp"
#include "store/redis/endpoint.hpp"
#include "store/redis/replies.hpp"

namespace store::redis {

/// One connection to a Redis server. All waiting goes through the caller's Poller, so hiredis is
/// used in non-blocking mode and only for the protocol.
class Connection {
public:
    /// Looks the host up, tries each of its addresses, logs in and selects the database.
    static guard::Result<Connection> open(const Endpoint& endpoint, guard::Deadline until,
                                          guard::Poller& poller);

    /// Sends one command and waits for its reply, which may be an error reply. An error means that
    /// no reply came: interrupted, `until` over, or the connection broken. It is then unknown
    /// whether the server executed the command. After an interruption or a time-out the connection
    /// can still be used: what comes late is skipped, and the order of the commands stands.
    guard::Result<Reply> request(std::span<const std::string_view> command, guard::Deadline until,
                                 guard::Poller& poller);

    /// For poll(2): readable while idle means that the server closed, or late replies.
    [[nodiscard]] int fd() const noexcept { return context_->fd; }

    /// After `fd()` became readable while idle: whether the connection still stands.
    [[nodiscard]] bool still_open() noexcept;

private:
    struct FreeContext {
        void operator()(redisContext* context) const noexcept { redisFree(context); }
    };
    using Context = std::unique_ptr<redisContext, FreeContext>;

    explicit Connection(Context context) noexcept : context_(std::move(context)) {}
    guard::Result<guard::Done> log_in(const Endpoint& endpoint, guard::Deadline until,
                                      guard::Poller& poller);
    guard::Result<guard::Done> send_all(guard::Deadline until, guard::Poller& poller);
    guard::Result<Reply> next_reply(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] guard::Error broken() const;

    Context context_;
    int overdue_ = 0;  ///< replies that nobody waits for any more
};

}  // namespace store::redis
