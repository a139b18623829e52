#pragma once

#include <hiredis/hiredis.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "guard/poller.hpp"
#include "guard/result.hpp"
#include "store/redis/endpoint.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/tls.hpp"

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

    /// Switches to RESP3 and subscribes to `channel`, so that messages come beside the replies.
    /// False where the server or the user's rights do not allow that. After an error the connection
    /// is of no use: an answer to SUBSCRIBE is a push, and a refusal would be taken for the reply
    /// to the next command.
    guard::Result<bool> subscribe(const std::string& channel, guard::Deadline until,
                                  guard::Poller& poller);
    [[nodiscard]] bool subscribed() const noexcept { return subscribed_; }
    /// Whether `subscribe` has met a cluster's node.
    [[nodiscard]] bool in_cluster() const noexcept { return in_cluster_; }

    /// Has the server send an invalidation when a key changes that a later command has read (CLIENT
    /// TRACKING). False where that is not allowed.
    guard::Result<bool> track(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] bool tracking() const noexcept { return tracking_; }

    /// The next message that has come beside the replies; none where there is none.
    [[nodiscard]] Reply next_push() noexcept;
    [[nodiscard]] bool has_push() const noexcept { return !pushes_.empty(); }

    /// Takes apart what has been received already: of what came together with the last reply,
    /// poll(2) knows nothing any more. False where it makes no sense.
    [[nodiscard]] bool sort_received() noexcept;

    /// Nothing where it is a plain one.
    [[nodiscard]] std::optional<TlsFacts> tls() const { return tls_facts(*context_); }

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
    guard::Result<guard::Done> send(std::span<const std::string_view> command,
                                    guard::Deadline until, guard::Poller& poller);
    guard::Result<Reply> next_of_any_kind(guard::Deadline until, guard::Poller& poller);
    guard::Result<Reply> next_reply(guard::Deadline until, guard::Poller& poller);
    [[nodiscard]] bool read() noexcept;
    [[nodiscard]] guard::Error broken() const;

    Context context_;
    bool may_want_tls_ = false;  ///< it is plain TCP, and no reply has come yet
    int overdue_ = 0;            ///< replies that nobody waits for any more
    std::deque<Reply> pushes_;
    bool subscribed_ = false;
    bool tracking_ = false;
    bool in_cluster_ = false;
};

}  // namespace store::redis
