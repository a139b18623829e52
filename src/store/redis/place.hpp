#pragma once

#include <hiredis/hiredis.h>

#include <string>

#include "guard/clock.hpp"

namespace store::redis {

/// What a message tells a waiter.
enum class Word {
    none,   ///< nothing that matters
    go,     ///< the slot is free, and we are next
    near,   ///< we have come near the head of the queue, to look at once
    change  ///< the slot's key has changed: released, expired, renewed
};

/// A waiter's place in the queue of a slot (queue.lua).
class Place {
public:
    /// For the slot `key` with its `queue`; `token` makes the waiter's name unique.
    Place(std::string key, const std::string& queue, const std::string& token,
          guard::Duration retry_interval);

    /// Whether it waits: it is in the queue, or will be with the next try.
    [[nodiscard]] bool waits() const noexcept { return waits_; }
    void start_to_wait() noexcept { waits_ = true; }
    void leave() noexcept { waits_ = false; }

    /// Whether messages come, or it has to poll.
    void listens(bool listens) noexcept { listens_ = listens; }
    [[nodiscard]] bool listens() const noexcept { return listens_; }
    [[nodiscard]] const std::string& channel() const noexcept { return channel_; }

    /// For the scripts: the name (empty while it does not wait), the arrival, and for how long it
    /// counts as present from now.
    [[nodiscard]] std::string name() const;
    [[nodiscard]] const std::string& arrival() const noexcept { return arrival_; }
    [[nodiscard]] guard::Duration presence() const noexcept;

    /// What a script answered; `rank` is the number of waiters before this one, -1 if unknown.
    void stands(long long rank, std::string arrival);
    [[nodiscard]] long long rank() const noexcept { return rank_; }
    [[nodiscard]] bool is_first() const noexcept { return rank_ == 0; }
    /// Whether it has to watch the slot's key: the first, and the second in case the first does not
    /// act.
    [[nodiscard]] bool watches() const noexcept { return rank_ == 0 || rank_ == 1; }

    /// How long to rest between two tries while the slot is taken. `left` is the holder's ttl, 0
    /// where it has none.
    [[nodiscard]] guard::Duration rest(guard::Duration left) const;

    [[nodiscard]] Word read(const redisReply& push) const;

private:
    std::string key_;
    std::string id_;
    std::string channel_;
    guard::Duration retry_interval_;
    std::string arrival_;
    long long rank_ = -1;
    bool waits_ = false;
    bool listens_ = false;
};

}  // namespace store::redis
