#include "store/redis/slot.hpp"

#include <algorithm>
#include <array>

namespace store::redis {
namespace {

using namespace std::chrono_literals;
using guard::after;
using guard::BootClock;
using guard::Deadline;
using guard::Done;
using guard::Duration;
using guard::Fault;
using guard::Poller;
using guard::Result;

/// How long a hash slot may be on the move before the slot's own key is used alone. Most moves take
/// milliseconds, but one may be left half done for hours.
constexpr Duration longest_move = 500ms;

std::string milliseconds(Duration span) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(span).count());
}

}  // namespace

/// While the hash slot is being moved, some of the keys are at either node and a script cannot have
/// them all.
Result<Reply> Slot::evaluate(const Script& script, std::size_t key_count,
                             std::initializer_list<std::string_view> arguments, Deadline until,
                             Poller& poller) {
    auto keys = keys_.with(claim_.key, key_count);
    is_alone_ = false;
    auto reply = session_.evaluate(script, keys, arguments, until, poller);
    if (!reply || !is_error(**reply, "TRYAGAIN")) {
        moving_since_.reset();
        return reply;
    }
    const auto now = BootClock::now();
    if (!moving_since_) moving_since_ = now;
    if (now - *moving_since_ < longest_move || !session_.connected()) return reply;
    is_alone_ = true;
    keys.resize(1);
    return session_.evaluate(script, keys, arguments, until, poller);
}

Result<Reply> Slot::enter(const Place& place, bool holds_back, Deadline until, Poller& poller) {
    const bool is_old = old_server_ == session_.connections();
    return evaluate(enter_script, 5,
                    {claim_.token, milliseconds(claim_.ttl), fence_ttl,
                     is_old ? "0" : std::to_string(grace.count()), place.name(), place.arrival(),
                     milliseconds(place.presence()), holds_back ? "1" : "0"},
                    until, poller);
}

Result<std::uint64_t> Slot::next_fence(Deadline until, Poller& poller) {
    const std::array<std::string_view, 1> key{keys_.fence};
    const auto reply =
        session_.accepted(session_.evaluate(count_script, key, {fence_ttl}, until, poller));
    if (!reply) return reply.error();
    const auto fence = number_in(text_of(**reply));
    if (!fence) return session_.named({Fault::internal, "its answer for a fence makes no sense"});
    return *fence;
}

Result<std::string> Slot::renew(Duration ttl, Deadline until, Poller& poller) {
    const auto reply = session_.accepted(
        evaluate(renew_script, 1, {claim_.token, milliseconds(ttl), ""}, until, poller));
    if (!reply) return reply.error();
    return std::string(text_of(**reply));
}

/// Holders come first, so what takes long while the hash slot is being moved is done without.
Result<std::string> Slot::restore(std::uint64_t fence, Deadline until, Poller& poller) {
    const auto ask = [&](std::size_t key_count) {
        return evaluate(renew_script, key_count,
                        {claim_.token, milliseconds(claim_.ttl), std::to_string(fence)}, until,
                        poller);
    };
    auto reply = ask(2);
    if (reply && is_error(**reply, "TRYAGAIN")) reply = ask(1);
    reply = session_.accepted(std::move(reply));
    if (!reply) return reply.error();
    return std::string(text_of(**reply));
}

Result<Done> Slot::lapse_in(Duration span, Deadline until, Poller& poller) {
    const auto answer = renew(span, until, poller);
    if (!answer) return answer.error();
    return replicate("release", poller);
}

Result<Done> Slot::release(const Place& place, Deadline until, Poller& poller) {
    return release(place, "", until, poller);
}

Result<Done> Slot::give_back(const Place& place, std::uint64_t fence, Deadline until,
                             Poller& poller) {
    return release(place, std::to_string(fence), until, poller);
}

Result<Done> Slot::release(const Place& place, std::string_view fence, Deadline until,
                           Poller& poller) {
    const auto reply = session_.accepted(
        evaluate(release_script, 4, {claim_.token, place.name(), fence}, until, poller));
    if (!reply) return reply.error();
    // A server that has been taken over from may still take it, and the new one never know.
    return replicate("release", poller);
}

Result<Done> Slot::tell_who_is_near(Deadline until, Poller& poller) {
    const auto reply = evaluate(near_script, 4, {}, until, poller);
    if (!reply) return reply.error();
    return Done{};
}

Result<Done> Slot::replicate(const char* what, Poller& poller) {
    if (!wants_replicas()) return Done{};
    long long replicas = 0;
    if (session_.connected() && !session_.answered_aside()) {
        const Duration time = std::min(response_timeout_, claim_.ttl / 6);
        const auto reply = session_.accepted(
            session_.request({"WAIT", std::to_string(min_replicas_), milliseconds(time)},
                             after(BootClock::now(), time + response_timeout_), poller));
        if (!reply) return reply.error();
        replicas = (*reply)->integer;
    }
    if (replicas >= min_replicas_) return Done{};
    return session_.named(
        {Fault::unreachable, std::to_string(replicas) + " of " + std::to_string(min_replicas_) +
                                 " replicas have the " + what + " (--min-replicas)"});
}

}  // namespace store::redis
