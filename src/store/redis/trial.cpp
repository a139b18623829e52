#include "store/redis/trial.hpp"

#include <algorithm>
#include <chrono>

#include "guard/isolation_key.hpp"
#include "guard/owner_card.hpp"
#include "store/redis/redis_store.hpp"

namespace store::redis {
namespace {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Deadline;
using guard::Done;
using guard::Duration;
using guard::Error;
using guard::Fault;
using guard::Lease;
using guard::Poller;
using guard::Result;

/// If the doctor is killed, the slot is gone after that.
constexpr Duration trial_ttl = 10s;
/// Long enough for a waiter that polls.
constexpr Duration patience = 5s;

std::string new_token() {
    return guard::make_token(guard::OwnerCard::of_this_process("sandbox-lock doctor"));
}

/// A token starts with `{"id":"` and a random id.
std::string id_in(const std::string& token) {
    return token.substr(7, 32);
}

guard::Claim claim_by(const std::string& prefix) {
    auto token = new_token();
    const guard::IsolationKey key{guard::Scope::session, "doctor-" + id_in(token)};
    return {guard::store_key(prefix, key), std::move(token), trial_ttl};
}

/// Its faults are known by now: the URL has been read before.
std::unique_ptr<Store> opened(const Url& url, Access access, guard::Claim claim) {
    access.retry_interval = std::min<Duration>(access.retry_interval, 500ms);
    auto store = open(url, access, std::move(claim), [](const guard::Report&) {});
    return store ? std::move(*store) : nullptr;
}

}  // namespace

Trial::Trial(const Url& url, const Access& access, const std::string& prefix)
    : claim_(claim_by(prefix)),
      companions_(claim_.key),
      response_timeout_(access.response_timeout),
      first_(opened(url, access, claim_)),
      second_(opened(url, access, {claim_.key, new_token(), trial_ttl})) {}

Result<Lease> Trial::enter(Poller& poller) {
    return first_->enter({.once = true}, poller, [](const Standing&) { return guard::never; });
}

Trial::HandOver Trial::hand_over(Poller& poller) {
    Result<Done> released = Error{Fault::internal, "nobody waited for the slot"};
    Deadline free = guard::never;
    const auto entered = second_->enter(
        {.until = guard::after(BootClock::now(), patience)}, poller, [&](const Standing&) {
            if (free != guard::never) return guard::never;
            free = BootClock::now();
            released = first_->release(guard::after(free, response_timeout_), poller);
            return guard::never;
        });
    return {released, entered, BootClock::now() - free};
}

Result<Done> Trial::leave(Deadline until, Poller& poller) {
    auto second = second_->release(until, poller);
    auto first = first_->release(until, poller);
    return first ? second : first;
}

}  // namespace store::redis
