#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "guard/lease.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/place.hpp"
#include "store/redis/session.hpp"

namespace store::redis {

/// One slot on its server, for one claim: what the scripts beside this file do, one request each,
/// on a session that is connected.
class Slot {
public:
    /// After a restart or a failover those who held a lease come first (DESIGN section 4).
    static constexpr std::chrono::seconds grace{1};

    Slot(std::unique_ptr<Route> route, const Access& access, guard::Claim claim)
        : session_(std::move(route)),
          claim_(std::move(claim)),
          keys_(claim_.key),
          response_timeout_(access.response_timeout),
          min_replicas_(access.min_replicas) {}

    [[nodiscard]] Session& session() noexcept { return session_; }
    [[nodiscard]] const Session& session() const noexcept { return session_; }
    [[nodiscard]] const guard::Claim& claim() const noexcept { return claim_; }
    [[nodiscard]] const std::string& queue() const noexcept { return keys_.queue; }

    /// enter.lua; its answer, or an error reply. Who `holds_back` only joins the queue.
    guard::Result<Reply> enter(const Place& place, bool holds_back, guard::Deadline until,
                               guard::Poller& poller);
    /// Whether the last of these had the slot's own key alone, as its hash slot is being moved:
    /// then there is no queue, and `next_fence` has the fence.
    [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }
    guard::Result<std::uint64_t> next_fence(guard::Deadline until, guard::Poller& poller);
    /// The server is older than the grace, or will be before the next try, as long as the
    /// connection stands.
    void server_is_old() noexcept { old_server_ = session_.connections(); }

    /// renew.lua to a ttl from now on; its answer.
    guard::Result<std::string> renew(guard::Duration ttl, guard::Deadline until,
                                     guard::Poller& poller);
    /// The same, and a missing key is set again, unless the fence has gone on since the entry.
    guard::Result<std::string> restore(std::uint64_t fence, guard::Deadline until,
                                       guard::Poller& poller);
    /// renew, and never again: so the slot frees itself then.
    guard::Result<guard::Done> lapse_in(guard::Duration span, guard::Deadline until,
                                        guard::Poller& poller);
    /// release.lua
    guard::Result<guard::Done> release(const Place& place, guard::Deadline until,
                                       guard::Poller& poller);
    /// The same for one entry, after which another one may follow.
    guard::Result<guard::Done> give_back(const Place& place, std::uint64_t fence,
                                         guard::Deadline until, guard::Poller& poller);
    /// near.lua
    guard::Result<guard::Done> tell_who_is_near(guard::Deadline until, guard::Poller& poller);

    /// Waits until as many replicas as the user wants, if any, have what has been written. `what` that is
    /// goes into the error.
    guard::Result<guard::Done> replicate(const char* what, guard::Poller& poller);
    [[nodiscard]] bool wants_replicas() const noexcept { return min_replicas_ > 0; }

private:
    guard::Result<Reply> evaluate(const Script& script, std::size_t key_count,
                                  std::initializer_list<std::string_view> arguments,
                                  guard::Deadline until, guard::Poller& poller);
    guard::Result<guard::Done> release(const Place& place, std::string_view fence,
                                       guard::Deadline until, guard::Poller& poller);

    Session session_;
    guard::Claim claim_;
    CompanionKeys keys_;
    guard::Duration response_timeout_;
    int min_replicas_;
    int old_server_ = 0;  ///< the connection whose server is older than the grace
    bool is_alone_ = false;
    std::optional<guard::BootClock::time_point> moving_since_;
};

}  // namespace store::redis
