#include "store/redis/place.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <string_view>

#include "store/redis/replies.hpp"

namespace store::redis {
namespace {

using namespace std::chrono_literals;
using guard::Duration;

/// How often a waiter that is not the first says that it is still there: at most once in 4 s, so
/// that thousands of them cost little.
constexpr Duration beat = 5s;
/// A waiter that misses two beats has lost its connection without the server's knowing.
constexpr Duration listeners_presence = 12s;
/// Of one that polls nobody knows a connection, so it must be seen more often.
constexpr Duration pollers_presence = 2s;
/// A key that expires is there for some time longer, until the server looks for it.
constexpr Duration after_expiry = 2ms;

/// Ten per cent up or down, so that waiters who came together do not stay together.
Duration scattered(Duration span) {
    thread_local std::minstd_rand random{std::random_device{}()};
    const double factor = std::uniform_real_distribution<>(0.9, 1.1)(random);
    return std::chrono::duration_cast<Duration>(span * factor);
}

/// The random part of a token of ours.
std::string id_of(const std::string& token) {
    constexpr std::string_view start = R"({"id":")";
    if (!token.starts_with(start)) return token;
    return token.substr(start.size(), token.find('"', start.size()) - start.size());
}

}  // namespace

Place::Place(std::string key, const std::string& queue, const std::string& token,
             Duration retry_interval)
    : key_(std::move(key)),
      id_(id_of(token)),
      channel_(queue + ":m" + id_),
      retry_interval_(retry_interval) {}

std::string Place::name() const {
    if (!waits_) return {};
    return (listens_ ? 'm' : 'p') + id_;
}

Duration Place::presence() const noexcept {
    return listens_ ? listeners_presence : std::max(pollers_presence, 3 * retry_interval_);
}

void Place::stands(long long rank, std::string arrival) {
    rank_ = rank;
    arrival_ = std::move(arrival);
}

Duration Place::rest(Duration left) const {
    const bool tries = rank_ <= 0 || !listens_;
    const Duration interval = tries ? std::min(retry_interval_, beat) : beat;
    const Duration span = scattered(interval);
    return is_first() && left > Duration::zero() ? std::min(span, left + after_expiry) : span;
}

Word Place::read(const redisReply& push) const {
    const auto kind = text_at(push, 0);
    if (kind == "message") {
        if (text_at(push, 1) != channel_) return Word::none;
        return text_at(push, 2) == "go" ? Word::go : Word::near;
    }
    if (kind != "invalidate") return Word::none;
    const auto* keys = element_at(push, 1);
    if (keys == nullptr || keys->type == REDIS_REPLY_NIL) return Word::change;  // FLUSHALL
    for (std::size_t i = 0; i < keys->elements; ++i)
        if (text_at(*keys, i) == key_) return Word::change;
    return Word::none;
}

}  // namespace store::redis
