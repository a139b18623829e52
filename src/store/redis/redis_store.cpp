#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "guard/owner_card.hpp"
#include "store/redis/backoff.hpp"
#include "store/redis/place.hpp"
#include "store/redis/slot.hpp"

namespace store::redis {
namespace {

using namespace std::chrono_literals;
using guard::after;
using guard::BootClock;
using guard::Deadline;
using guard::Done;
using guard::Duration;
using guard::Error;
using guard::Fault;
using guard::Holding;
using guard::Lease;
using guard::LeasedRun;
using guard::Level;
using guard::Poller;
using guard::Result;
using guard::Wake;

/// Between tries that fail. A holder's longest pause is well below the grace, so that it is back in
/// time; a waiter's, too, so that all of them are in the queue again when the first one's is over.
constexpr Duration longest_pause = 250ms;
constexpr Duration longest_pause_of_waiters = 500ms;
/// How long the first in the queue may take after it was woken, before the next one looks:
/// queue.lua.
constexpr Duration standby = 1s;
/// How long the slot is left open in a mixed fleet: enter.lua.
constexpr Duration open_gap = 600ms;
/// How long after its entry a holder tells the next two in the queue that they are: near.lua.
constexpr Duration settling = 100ms;

/// A lease that goes on for longer is waited for like this one; it may be longer than our clock
/// goes.
constexpr long long a_day_in_ms = 86'400'000;

/// How renew.lua's answer starts where somebody else holds the slot; the token follows.
constexpr std::string_view foreign_answer = "foreign:";

Error interrupted() {
    return {Fault::interrupted, "interrupted"};
}

class RedisStore final : public Store {
public:
    RedisStore(std::unique_ptr<Route> route, const Access& access, guard::Claim claim,
               guard::Reporter reporter)
        : slot_(std::move(route), access, std::move(claim)),
          connect_timeout_(access.connect_timeout),
          response_timeout_(access.response_timeout),
          place_(claim_.key, slot_.queue(), claim_.token, access.retry_interval),
          reporter_(std::move(reporter)) {}

    Result<Lease> enter(const guard::Patience& patience, Poller& poller,
                        const OnTaken& on_taken) override;
    Holding hold(const Lease& lease, LeasedRun& run) override;
    Result<Done> release(Deadline until, Poller& poller) override;
    Result<Done> release_after(Duration span, Deadline until, Poller& poller) override;
    Result<bool> held_by(const std::string& token, Deadline until, Poller& poller) override;
    bool leases_lapse() const noexcept override { return true; }
    guard::Descriptor anchor() const override { return {}; }

private:
    /// What one try to enter found.
    struct Attempt {
        enum Outcome { entered, taken, behind, open, young, moving, unsafe, failed } outcome;
        Lease lease{};
        std::string holder;
        Duration left{};                   ///< of the holder's lease, or of a server's youth
        Error error{Fault::internal, ""};  ///< when unsafe or failed
        bool passing = false;              ///< a later try may do better
        bool by_server = false;            ///< it was the server that said so

        [[nodiscard]] bool has_failed() const { return outcome == unsafe || outcome == failed; }
        [[nodiscard]] bool waits() const {
            return outcome == taken || outcome == behind || outcome == open;
        }
    };
    /// What a waiter knows about the server.
    struct Contact {
        Deadline first_answer;  ///< the first answer must have come by then
        bool answered = false;
        bool in_trouble = false;
        Backoff backoff{longest_pause_of_waiters};
        std::optional<Error> complaint = {};  ///< the last error that the server itself gave
    };
    enum class Renewal { done, lost, failed };

    Attempt attempt(Deadline until, Poller& poller);
    Attempt ask_entry(bool holds_back, Deadline until, Poller& poller);
    Attempt read_answer(const redisReply& reply, Deadline asked);
    void give_back(const Lease& lease, Poller& poller);
    Duration deference();
    /// Whether so little is left of a new lease that its command might be ended before it is
    /// renewed.
    bool is_used_up(const Lease& lease) const {
        return lease.deadline - BootClock::now() < claim_.ttl / 2;
    }
    std::optional<Error> verdict(const Attempt& tried, const guard::Patience& patience,
                                 const Contact& contact) const;
    Result<Done> open_ears(Deadline until, Poller& poller);
    Duration rest_after(const Attempt& tried, Contact& contact);
    Wake rest(Deadline again, const Attempt& tried, const OnTaken& on_taken, Poller& poller);
    Deadline heed(const redisReply& push, Deadline again) const;
    Duration renewal_interval() const;
    void settle(Poller& poller);
    /// For one answer while a lease is held: a short lease leaves time for a second try, too.
    Duration answer_time() const { return std::min(response_timeout_, claim_.ttl / 6); }
    bool key_has_changed();
    Renewal renew(Lease& lease, LeasedRun& run);
    Renewal renewal_failed(const Error& error);
    template <class Ask>
    auto insist(Deadline until, Poller& poller, Ask ask) -> decltype(ask(until));

    void tell(Level level, std::string_view event, std::string text) const {
        reporter_({level, event, std::move(text), {{"store", session_.text()}}});
    }

    Slot slot_;
    Session& session_ = slot_.session();
    const guard::Claim& claim_ = slot_.claim();
    Duration connect_timeout_;
    Duration response_timeout_;
    Place place_;
    guard::Reporter reporter_;

    bool asked_ = false;    ///< an entry was asked for, and the slot may be ours
    bool was_cut_ = false;  ///< since the last connection
    int known_ = 0;         ///< the connection whose server was asked how new it is
    Deadline holds_back_until_{};
    bool has_messages_ = true;  ///< as far as is known, they may be used
    bool has_tracking_ = true;  ///< the same
    bool came_from_queue_ = false;
    std::string trouble_;   ///< what renewals fail with at present
    std::string why_lost_;  ///< the lease, for a person
};

Result<Lease> RedisStore::enter(const guard::Patience& patience, Poller& poller,
                                const OnTaken& on_taken) {
    const auto start = BootClock::now();
    Contact contact{patience.outlasts ? guard::never : after(start, connect_timeout_)};
    for (;;) {
        const auto answer_time = contact.answered ? response_timeout_ : connect_timeout_;
        const auto first =
            contact.answered ? guard::never : std::min(contact.first_answer, patience.until);
        const Attempt tried =
            attempt(std::min(after(BootClock::now(), answer_time), first), poller);
        if (tried.outcome == Attempt::entered && is_used_up(tried.lease)) {
            if (BootClock::now() >= patience.until)
                return session_.named(
                    {Fault::unreachable, "its answer took more than half of the lease"});
            contact.answered = true;
            continue;  // the slot is still ours, or free again
        }
        if (tried.outcome == Attempt::entered) {
            came_from_queue_ = place_.waits();
            if (!slot_.is_alone()) place_.leave();  // the script has done it
            return tried.lease;
        }
        if (tried.by_server) contact.complaint = tried.error;
        if (auto error = verdict(tried, patience, contact)) return *error;
        Deadline again = after(BootClock::now(), rest_after(tried, contact));
        // Whoever comes too early at a young server might overlap with one that still holds a
        // lease.
        if (tried.outcome != Attempt::young) again = std::min(again, patience.until);
        const bool was_connected = session_.connected();
        const Wake wake = rest(again, tried, on_taken, poller);
        if (wake == Wake::interrupted) return interrupted();
        was_cut_ = was_cut_ || (was_connected && !session_.connected());
    }
}

/// Waits until it is time for the next try; `ready` where a message or a cut makes it so.
Wake RedisStore::rest(Deadline again, const Attempt& tried, const OnTaken& on_taken,
                      Poller& poller) {
    const bool joined = place_.rank() >= 0;  // the first try asks without a place in the queue
    const auto tell = [&] {
        return tried.waits() && joined ? on_taken({tried.holder, place_.rank()}) : guard::never;
    };
    const bool was_connected = session_.connected();
    for (Deadline tell_again = tell();;) {
        const Wake wake = session_.idle(std::min(again, tell_again), poller);
        if (wake == Wake::interrupted || (was_connected && !session_.connected())) return wake;
        // Who holds back does so whatever it hears.
        while (const auto push = session_.next_push())
            if (tried.outcome != Attempt::young) again = heed(*push, again);
        const auto now = BootClock::now();
        if (now >= again) return wake;
        if (now >= tell_again) tell_again = tell();
    }
}

/// When to try after a message, if the next try was to be at `again`.
Deadline RedisStore::heed(const redisReply& push, Deadline again) const {
    const auto now = BootClock::now();
    switch (place_.read(push)) {
        case Word::none:
            break;
        case Word::go:
            return now;
        case Word::near:
            return now;
        case Word::change:
            return place_.is_first() ? now : std::min(again, now + standby);
    }
    return again;
}

/// Whoever waits listens for messages, and watches the slot when it is near the head. Where that is
/// not allowed, it polls.
Result<Done> RedisStore::open_ears(Deadline until, Poller& poller) {
    const auto lacks = [&](const char* what) {
        tell(Level::detail, "polling",
             std::string("the server or the user's rights allow no ") + what +
                 ": polling at the retry interval");
        return false;
    };
    if (has_messages_ && !session_.subscribed()) {
        const auto listens = session_.subscribe(place_.channel(), until, poller);
        if (!listens) return listens.error();
        has_messages_ = *listens || lacks("messages (HELLO 3, SUBSCRIBE)");
    }
    place_.listens(session_.subscribed());
    if (session_.in_cluster())
        if (const auto known = session_.explore(until, poller); !known) return known.error();
    if (has_messages_ && has_tracking_ && place_.watches() && !session_.tracking()) {
        const auto tracks = session_.track(until, poller);
        if (!tracks) return tracks.error();
        has_tracking_ = *tracks || lacks("CLIENT TRACKING");
    }
    return Done{};
}

/// How long to hold back yet: after a cut, which may have been a restart or a failover, and at a
/// server that has just taken over, those who hold a lease come first.
Duration RedisStore::deference() {
    const auto now = BootClock::now();
    if (known_ != session_.connections()) {
        known_ = session_.connections();
        const Duration after_cut = std::exchange(was_cut_, false) ? Slot::grace : 0s;
        const Duration pause = std::max(after_cut, session_.route().fresh_for());
        holds_back_until_ = std::max(holds_back_until_, after(now, pause));
    }
    return std::max<Duration>(holds_back_until_ - now, Duration::zero());
}

RedisStore::Attempt RedisStore::attempt(Deadline until, Poller& poller) {
    if (const auto connected = session_.connect(until, poller); !connected)
        return {.outcome = Attempt::failed,
                .error = connected.error(),
                .passing = session_.route().fails_over()};
    const auto pause = deference();
    const bool holds_back = pause > Duration::zero();
    if (holds_back && !place_.waits()) return {.outcome = Attempt::young, .left = pause};
    if (place_.waits())
        if (const auto ears = open_ears(until, poller); !ears)
            return {.outcome = Attempt::failed, .error = ears.error(), .passing = true};
    asked_ = true;
    Attempt tried = ask_entry(holds_back, until, poller);
    if (tried.outcome == Attempt::young && holds_back) tried.left = pause;
    if (tried.outcome == Attempt::entered)
        if (const auto safe = slot_.replicate("entry", poller); !safe) {
            give_back(tried.lease, poller);
            return {.outcome = Attempt::unsafe,
                    .error = safe.error(),
                    .passing = safe.error().fault == Fault::unreachable,
                    .by_server = true};
        }
    asked_ = tried.outcome == Attempt::entered || tried.outcome == Attempt::failed;
    if (tried.outcome == Attempt::entered || tried.waits()) slot_.server_is_old();
    return tried;
}

/// The slot may still be ours after this: then the next try finds that, or `release` frees it.
void RedisStore::give_back(const Lease& lease, Poller& poller) {
    const auto done = insist(after(BootClock::now(), response_timeout_), poller, [&](Deadline end) {
        return slot_.give_back(place_, lease.fence, end, poller);
    });
    if (done) place_.leave();
}

RedisStore::Attempt RedisStore::ask_entry(bool holds_back, Deadline until, Poller& poller) {
    const Deadline asked = BootClock::now();
    const auto reply = slot_.enter(place_, holds_back, until, poller);
    if (!reply) return {.outcome = Attempt::failed, .error = reply.error(), .passing = true};
    Attempt tried = read_answer(**reply, asked);
    if (tried.outcome != Attempt::entered || !slot_.is_alone()) return tried;
    const auto fence = slot_.next_fence(until, poller);
    if (!fence) return {.outcome = Attempt::failed, .error = fence.error(), .passing = true};
    tried.lease.fence = *fence;
    return tried;
}

RedisStore::Attempt RedisStore::read_answer(const redisReply& reply, Deadline asked) {
    if (is_error(reply, "TRYAGAIN")) return {.outcome = Attempt::moving};
    if (is_error(reply))
        return {.outcome = Attempt::failed,
                .error = session_.named(plain_words(text_of(reply))),
                // The route may lead to another one, that does not say so.
                .passing = passes_by_itself(text_of(reply)) || !session_.connected(),
                .by_server = true};
    const auto word = text_at(reply, 0);
    const auto detail = text_at(reply, 1);
    const auto stand = [&](Attempt::Outcome outcome) -> Attempt {
        place_.stands(number_at(reply, 2).value_or(-1), std::string(text_at(reply, 3)));
        const auto pttl = number_at(reply, 4).value_or(-1);  // 0 in the last millisecond
        const std::chrono::milliseconds left{pttl < 0 ? 0 : std::clamp(pttl, 1LL, a_day_in_ms)};
        return {.outcome = outcome, .holder = std::string(detail), .left = left};
    };
    if (word == "taken") return stand(Attempt::taken);
    if (word == "behind") return stand(Attempt::behind);
    if (word == "open") return stand(Attempt::open);
    if (word == "young") {
        Attempt young = stand(Attempt::young);
        young.left = Slot::grace;
        return young;
    }
    const auto fence = number_in(detail);
    if (word != "entered" || !fence)
        return {
            .outcome = Attempt::failed,
            .error = session_.named({Fault::internal, "its answer to an entry makes no sense"})};
    return {.outcome = Attempt::entered, .lease = {guard::lease_end(asked, claim_.ttl), *fence}};
}

/// The error that ends the wait, if this try was the last one.
std::optional<Error> RedisStore::verdict(const Attempt& tried, const guard::Patience& patience,
                                         const Contact& contact) const {
    const auto now = BootClock::now();
    const bool time_is_over = now >= patience.until;
    if (tried.waits() && (patience.once || time_is_over)) return Error{Fault::taken, tried.holder};
    if (!tried.has_failed()) return std::nullopt;
    // A store that is down from the start is told soon; one that goes down later may come back.
    const bool may_pass = tried.error.fault == Fault::unreachable &&
                          (contact.answered || patience.outlasts ||
                           (tried.passing && after(now, longest_pause) < contact.first_answer));
    const bool is_last = time_is_over || (patience.once && !patience.outlasts);
    if (may_pass && !is_last) return std::nullopt;
    // What a server has said tells more than that it was too slow to say it again.
    const bool silent = tried.error.fault == Fault::unreachable && !contact.answered;
    return silent ? contact.complaint.value_or(tried.error) : tried.error;
}

/// How long to wait before the next try.
Duration RedisStore::rest_after(const Attempt& tried, Contact& contact) {
    if (tried.has_failed()) {
        if (!contact.in_trouble)
            tell(Level::notice, "store-trouble", tried.error.text + "; trying again");
        contact.in_trouble = true;
        if (tried.outcome == Attempt::failed) {
            session_.drop();
            was_cut_ = was_cut_ || contact.answered;
        }
        return contact.backoff.next();
    }
    if (tried.outcome == Attempt::moving) return Backoff::first;
    contact.answered = true;
    contact.in_trouble = false;
    contact.backoff.reset();
    // On the way to the server that has the slot, another connection was made.
    const bool lost_ears = place_.listens() && !session_.subscribed();
    if (tried.outcome == Attempt::young) {
        tell(Level::detail, "store-young",
             "the store has just started or taken over, or the connection was cut: those who hold "
             "leases come first");
        if (lost_ears) return Duration::zero();
        if (tried.left >= Slot::grace) slot_.server_is_old();  // it is, when the rest is over
        return tried.left;
    }
    const bool joins = !place_.waits() || lost_ears;
    place_.start_to_wait();
    // A key is tracked when it is read after the tracking has begun.
    const bool may_track = has_tracking_ && session_.subscribed() && !session_.tracking();
    if (joins || (may_track && place_.watches())) return Duration::zero();
    if (tried.outcome == Attempt::open) return open_gap;
    if (tried.outcome == Attempt::behind) return std::min(standby, place_.rest({}));
    return place_.rest(tried.left);
}

Holding RedisStore::hold(const Lease& given, LeasedRun& run) {
    Lease lease = given;
    // Counted from the request, not from its answer: each has to be answered well before the end.
    const auto next_renewal = [&] {
        return claim_.renew ? lease.deadline - claim_.ttl + renewal_interval() : guard::never;
    };
    Deadline next = next_renewal();
    Deadline settled = after(BootClock::now(), settling);
    Backoff backoff{longest_pause};
    for (;;) {
        const Wake wake = session_.idle(std::min({next, lease.deadline, settled}), run);
        if (wake == Wake::interrupted) return {};
        if (BootClock::now() >= settled) {
            settle(run);
            settled = guard::never;
            continue;
        }
        if (BootClock::now() >= lease.deadline)
            return {true, claim_.renew ? "it could not be renewed in time" : "its time is over"};
        const bool changed = key_has_changed();
        if (!claim_.renew) continue;  // the connection is of no use until the release
        // At once when the server has cut us off, or somebody has changed the key.
        if (wake == Wake::ready && session_.connected() && !changed) continue;
        switch (renew(lease, run)) {
            case Renewal::done:
                if (session_.in_cluster())
                    (void)session_.explore(after(BootClock::now(), answer_time()), run);
                next = next_renewal();
                backoff.reset();
                break;
            case Renewal::lost:
                return {true, why_lost_};
            case Renewal::failed:
                next = after(BootClock::now(), backoff.next());
                break;
        }
    }
}

/// Every third of the ttl. Where another server may take over while this one goes on, what tells of
/// it is that its replicas leave, and that has to be seen before the new one lets others in.
Duration RedisStore::renewal_interval() const {
    const bool may_be_left = slot_.wants_replicas() && session_.route().fails_over();
    return may_be_left ? std::min<Duration>(claim_.ttl / 3, 1s) : claim_.ttl / 3;
}

/// What has to be done some time after the entry, off the way of a hand-over: tells the next ones
/// that they are near, and learns where to go if this server goes. Without consequences if it
/// fails.
void RedisStore::settle(Poller& poller) {
    const Deadline until = after(BootClock::now(), answer_time());
    if (session_.connected() && came_from_queue_) (void)slot_.tell_who_is_near(until, poller);
    if (session_.connected() && claim_.renew) (void)session_.explore(until, poller);
}

/// By the messages that have come; those for a waiter come late and do not count any more.
bool RedisStore::key_has_changed() {
    bool changed = false;
    while (const auto push = session_.next_push())
        changed = changed || place_.read(*push) == Word::change;
    return changed;
}

/// One try to renew. After a failure it may be tried again until the deadline.
RedisStore::Renewal RedisStore::renew(Lease& lease, LeasedRun& run) {
    const auto within = [&](Duration span) {
        return std::min(lease.deadline, after(BootClock::now(), span));
    };
    if (auto up = session_.connect(within(connect_timeout_), run); !up)
        return renewal_failed(up.error());

    Deadline asked = BootClock::now();
    auto answer = slot_.renew(claim_.ttl, within(answer_time()), run);
    if (answer && *answer == "missing") {
        // Asked for in a second step, so that a request which a stuck server executes late never
        // brings back the key of a holder that is gone.
        asked = BootClock::now();
        if (asked < lease.deadline) answer = slot_.restore(lease.fence, within(answer_time()), run);
    }
    if (!answer) return renewal_failed(answer.error());
    if (answer->starts_with(foreign_answer))
        why_lost_ = "somebody else holds the slot now: " +
                    guard::describe_holder(answer->substr(foreign_answer.size()));
    if (*answer == "passed")
        why_lost_ = "the slot was taken away, or somebody entered it, while its key was missing";
    if (!why_lost_.empty()) return Renewal::lost;
    if (*answer == "missing") return Renewal::failed;
    if (const auto safe = slot_.replicate("renewal", run); !safe)
        return renewal_failed(safe.error());
    if (*answer == "restored")
        tell(Level::notice, "lease-restored", "the store had lost the lease; it is set again");
    else if (!trouble_.empty())
        tell(Level::notice, "renewal-resumed", "the lease is renewed again");
    trouble_.clear();
    lease.deadline = guard::lease_end(asked, claim_.ttl);
    run.extended(lease.deadline);
    return Renewal::done;
}

RedisStore::Renewal RedisStore::renewal_failed(const Error& error) {
    if (error.fault == Fault::interrupted) return Renewal::failed;  // the command has ended
    session_.drop();
    if (trouble_.empty())
        tell(Level::warning, "renewal-failed",
             "cannot renew the lease (" + error.text + "); trying again until it ends");
    trouble_ = error.text;
    return Renewal::failed;
}

/// Does what `ask` does on a connection, and again on another one as long as that fails for want of
/// a server: one may just be taking over, or the connection may have been broken for some time.
template <class Ask>
auto RedisStore::insist(Deadline until, Poller& poller, Ask ask) -> decltype(ask(until)) {
    const auto try_it = [&](Deadline end) -> decltype(ask(until)) {
        if (auto connected = session_.connect(end, poller); !connected) return connected.error();
        return ask(end);
    };
    for (Backoff backoff{longest_pause};;) {
        const auto now = BootClock::now();
        // A connection that is silent leaves time for another one.
        const Duration share = session_.connected() ? (until - now) / 2 : until - now;
        auto done = try_it(after(now, std::min(share, connect_timeout_)));
        const Deadline again = after(BootClock::now(), backoff.next());
        if (done || done.error().fault != Fault::unreachable || again >= until) return done;
        session_.drop();
        if (session_.idle(again, poller) == Wake::interrupted) return done;
    }
}

Result<Done> RedisStore::release(Deadline until, Poller& poller) {
    if (!asked_ && !place_.waits()) return Done{};
    auto done =
        insist(until, poller, [&](Deadline end) { return slot_.release(place_, end, poller); });
    if (!done) return done;
    asked_ = false;
    place_.leave();
    return done;
}

Result<Done> RedisStore::release_after(Duration span, Deadline until, Poller& poller) {
    if (span <= Duration::zero()) return release(until, poller);
    if (!asked_) return Done{};
    return insist(until, poller, [&](Deadline end) { return slot_.lapse_in(span, end, poller); });
}

Result<bool> RedisStore::held_by(const std::string& token, Deadline until, Poller& poller) {
    const auto reply = insist(until, poller, [&](Deadline end) {
        return session_.request({"GET", claim_.key}, end, poller);
    });
    if (!reply) return reply.error();
    const auto said = text_of(**reply);
    if (is_error(**reply) && !is_error(**reply, "WRONGTYPE"))
        return session_.named(plain_words(said));
    return (*reply)->type == REDIS_REPLY_STRING && said == token;
}

}  // namespace

Result<std::unique_ptr<Store>> open(const Url& url, const Access& access, guard::Claim claim,
                                    guard::Reporter reporter) {
    auto route = route_by(url, access, reporter);
    if (!route) return route.error();
    return std::unique_ptr<Store>(std::make_unique<RedisStore>(
        std::move(*route), access, std::move(claim), std::move(reporter)));
}

}  // namespace store::redis
