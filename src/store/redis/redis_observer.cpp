#include "store/redis/redis_observer.hpp"

#include <chrono>
#include <set>

#include "store/redis/keys.hpp"
#include "store/redis/session.hpp"
#include "store/redis/tls.hpp"

namespace store::redis {
namespace {

using guard::BootClock;
using guard::Deadline;
using guard::Duration;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;

/// For a holder that has no end, in ms.
constexpr std::string_view ttl_of_endless = "60000";

/// A prefix as a pattern that stands for itself: KEYS, "Supported glob-style patterns".
std::string pattern_of(const std::string& prefix) {
    std::string pattern;
    for (const char c : prefix) {
        if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern + '*';
}

class RedisObserver final : public Observer {
public:
    RedisObserver(Endpoint endpoint, const Access& access)
        : session_(std::move(endpoint)),
          connect_timeout_(access.connect_timeout),
          response_timeout_(access.response_timeout) {}

    Result<std::vector<SlotState>> held(const std::string& prefix, Poller& poller) override;
    Result<SlotState> look(const std::string& key, Poller& poller) override;
    Result<Broken> take_away(const std::string& key, const std::string& holder,
                             const std::string& token, Poller& poller) override;

private:
    Result<Reply> connected(Poller& poller, const auto& ask);
    Result<std::set<std::string>> keys_with(const std::string& prefix, Poller& poller);

    Session session_;
    Duration connect_timeout_;
    Duration response_timeout_;
};

/// Connects if need be, and asks; an error reply comes as an error.
Result<Reply> RedisObserver::connected(Poller& poller, const auto& ask) {
    if (auto up = session_.connect(guard::after(BootClock::now(), connect_timeout_), poller); !up)
        return up.error();
    auto reply = ask(guard::after(BootClock::now(), response_timeout_));
    if (!reply) {
        session_.drop();
        return reply.error();
    }
    if ((*reply)->type == REDIS_REPLY_ERROR) return session_.named(plain_words(text_of(**reply)));
    return reply;
}

/// By SCAN, which does not stop the server as KEYS would, and may name a key more than once.
Result<std::set<std::string>> RedisObserver::keys_with(const std::string& prefix, Poller& poller) {
    const auto pattern = pattern_of(prefix);
    std::set<std::string> keys;
    std::string cursor = "0";
    do {
        const auto reply = connected(poller, [&](Deadline until) {
            return session_.request({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}, until,
                                    poller);
        });
        if (!reply) return reply.error();
        const auto* list = element_at(**reply, 1);
        if (list == nullptr)
            return session_.named({Fault::internal, "its answer to SCAN makes no sense"});
        cursor = std::string(text_at(**reply, 0));
        for (std::size_t i = 0; i < list->elements; ++i)
            keys.insert(std::string(text_at(*list, i)));
    } while (cursor != "0");
    return keys;
}

Result<std::vector<SlotState>> RedisObserver::held(const std::string& prefix, Poller& poller) {
    const auto keys = keys_with(prefix, poller);
    if (!keys) return keys.error();
    std::vector<SlotState> slots;
    for (const auto& key : *keys) {
        auto slot = look(key, poller);
        if (!slot) return slot.error();
        if (!slot->holder.empty()) slots.push_back(std::move(*slot));
    }
    return slots;
}

Result<SlotState> RedisObserver::look(const std::string& key, Poller& poller) {
    const CompanionKeys companions(key);
    const auto reply = connected(poller, [&](Deadline until) {
        return session_.evaluate(status_script, 4,
                                 {key, companions.fence, companions.queue, companions.presence},
                                 until, poller);
    });
    if (!reply) return reply.error();
    SlotState slot{key, std::string(text_at(**reply, 0))};
    const long long left = number_at(**reply, 1).value_or(-1);
    if (left >= 0) slot.left = std::chrono::milliseconds{left};
    slot.waiters = number_at(**reply, 2).value_or(0);
    return slot;
}

Result<Broken> RedisObserver::take_away(const std::string& key, const std::string& holder,
                                        const std::string& token, Poller& poller) {
    const CompanionKeys companions(key);
    const auto reply = connected(poller, [&](Deadline until) {
        return session_.evaluate(break_script, 4,
                                 {key, companions.fence, companions.queue, companions.presence,
                                  holder, token, ttl_of_endless},
                                 until, poller);
    });
    if (!reply) return reply.error();
    return text_of(**reply) == "broken" ? Broken::yes : Broken::other;
}

}  // namespace

Result<std::unique_ptr<Observer>> observe(const Url& url, const Access& access,
                                          const guard::Reporter& reporter) {
    auto endpoint = Endpoint::from(url, access.password);
    if (!endpoint) return endpoint.error();
    if (const auto fit = add_tls(*endpoint, url, access.tls, reporter); !fit) return fit.error();
    return std::unique_ptr<Observer>(std::make_unique<RedisObserver>(std::move(*endpoint), access));
}

}  // namespace store::redis
