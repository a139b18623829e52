#include "store/redis/redis_observer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>

#include "store/redis/keys.hpp"
#include "store/redis/scan.hpp"
#include "store/redis/session.hpp"

namespace store::redis {
namespace {

using guard::BootClock;
using guard::Deadline;
using guard::Done;
using guard::Duration;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;

/// For a holder that has no end, in ms.
constexpr std::string_view ttl_of_endless = "60000";

class RedisObserver final : public Observer {
public:
    RedisObserver(std::unique_ptr<Route> route, const Access& access)
        : session_(std::move(route)),
          connect_timeout_(access.connect_timeout),
          response_timeout_(access.response_timeout) {}

    Result<std::vector<SlotState>> held(const std::string& prefix, Poller& poller) override;
    Result<SlotState> look(const std::string& key, Poller& poller) override;
    Result<Broken> take_away(const std::string& key, const std::string& holder,
                             const std::string& token, Poller& poller) override;

private:
    Result<Reply> connected(Session& session, Poller& poller, const auto& ask);
    Result<Reply> evaluate(Session& session, const Script& script, const std::string& key,
                           std::initializer_list<std::string_view> arguments, Poller& poller);
    Result<SlotState> look(const std::string& key, Session& session, Poller& poller);
    Result<Done> add_held(const std::string& prefix, Session& session, Poller& poller,
                          std::vector<SlotState>& slots);

    Session session_;
    Duration connect_timeout_;
    Duration response_timeout_;
};

/// Connects if need be, and asks; an error reply comes as an error.
Result<Reply> RedisObserver::connected(Session& session, Poller& poller, const auto& ask) {
    if (auto up = session.connect(guard::after(BootClock::now(), connect_timeout_), poller); !up)
        return up.error();
    auto reply = ask(guard::after(BootClock::now(), response_timeout_));
    if (!reply) session.drop();
    return session.accepted(std::move(reply));
}

/// On the slot's key and its companions; on the key alone while its hash slot is being moved.
Result<Reply> RedisObserver::evaluate(Session& session, const Script& script,
                                      const std::string& key,
                                      std::initializer_list<std::string_view> arguments,
                                      Poller& poller) {
    const CompanionKeys companions(key);
    const auto keys = companions.with(key, 4);
    return connected(session, poller, [&](Deadline until) {
        auto reply = session.evaluate(script, keys, arguments, until, poller);
        if (!reply || !is_error(**reply, "TRYAGAIN") || !session.connected()) return reply;
        return session.evaluate(script, std::span(keys).first(1), arguments, until, poller);
    });
}

Result<Done> RedisObserver::add_held(const std::string& prefix, Session& session, Poller& poller,
                                     std::vector<SlotState>& slots) {
    Scan scan(prefix);
    do {
        const auto page = connected(
            session, poller, [&](Deadline until) { return scan.next(session, until, poller); });
        if (!page) return page.error();
        if (!scan.take(**page))
            return session.named({Fault::internal, "its answer to SCAN makes no sense"});
    } while (!scan.is_complete());
    for (const auto& key : scan.keys()) {
        auto slot = look(key, session, poller);
        if (!slot) return slot.error();
        if (!slot->holder.empty()) slots.push_back(std::move(*slot));
    }
    return Done{};
}

/// In a cluster each master has keys of its own.
Result<std::vector<SlotState>> RedisObserver::held(const std::string& prefix, Poller& poller) {
    const auto until = guard::after(BootClock::now(), connect_timeout_);
    std::vector<SlotState> slots;
    const auto done = on_each_master(session_, until, poller, [&](Session& session) {
        return add_held(prefix, session, poller, slots);
    });
    if (!done) return done.error();
    std::ranges::sort(slots, {}, &SlotState::key);
    // A key that is just being moved is found at either node.
    const auto [first, last] = std::ranges::unique(slots, {}, &SlotState::key);
    slots.erase(first, last);
    return slots;
}

Result<SlotState> RedisObserver::look(const std::string& key, Poller& poller) {
    return look(key, session_, poller);
}

Result<SlotState> RedisObserver::look(const std::string& key, Session& session, Poller& poller) {
    const auto reply = evaluate(session, status_script, key, {}, poller);
    if (!reply) return reply.error();
    SlotState slot{key, std::string(text_at(**reply, 0))};
    const long long left = number_at(**reply, 1).value_or(-1);
    if (left >= 0) slot.left = guard::clamped(std::chrono::milliseconds{left});
    slot.waiters = number_at(**reply, 2).value_or(0);
    return slot;
}

Result<Broken> RedisObserver::take_away(const std::string& key, const std::string& holder,
                                        const std::string& token, Poller& poller) {
    const auto reply =
        evaluate(session_, break_script, key, {holder, token, ttl_of_endless, fence_ttl}, poller);
    if (!reply) return reply.error();
    return text_of(**reply) == "broken" ? Broken::yes : Broken::other;
}

}  // namespace

Result<std::unique_ptr<Observer>> observe(const Url& url, const Access& access,
                                          const guard::Reporter& reporter) {
    auto route = route_by(url, access, reporter);
    if (!route) return route.error();
    return std::unique_ptr<Observer>(std::make_unique<RedisObserver>(std::move(*route), access));
}

}  // namespace store::redis
