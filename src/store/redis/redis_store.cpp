#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>

#include "store/redis/session.hpp"

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

/// After a restart or a failover those who held a lease come first (DESIGN section 4).
constexpr std::chrono::seconds grace = 1s;
/// A fence that expires starts again from the server's time, so this only saves memory.
constexpr Duration fence_ttl = 24h;
/// Between tries that fail: the first pause, then ever longer ones. The longest is well below the
/// grace, so that a holder is back in time.
constexpr Duration first_pause = 50ms;
constexpr Duration longest_pause = 250ms;

class Backoff {
public:
    Duration next() noexcept {
        const Duration now = pause_;
        pause_ = std::min(2 * pause_, longest_pause);
        return now;
    }

private:
    Duration pause_ = first_pause;
};

std::string milliseconds(Duration span) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(span).count());
}

Error interrupted() {
    return {Fault::interrupted, "interrupted"};
}

class RedisStore final : public Store {
public:
    RedisStore(Endpoint endpoint, const Access& access, guard::Claim claim,
               guard::Reporter reporter)
        : session_(std::move(endpoint)),
          connect_timeout_(access.connect_timeout),
          response_timeout_(access.response_timeout),
          retry_interval_(access.retry_interval),
          claim_(std::move(claim)),
          fence_key_(fence_key(claim_.key)),
          reporter_(std::move(reporter)) {}

    Result<Lease> enter(const guard::Patience& patience, Poller& poller,
                        const OnTaken& on_taken) override;
    Holding hold(const Lease& lease, LeasedRun& run) override;
    Result<Done> release(Deadline until, Poller& poller) override;
    Result<bool> held_by(const std::string& token, Deadline until, Poller& poller) override;
    bool leases_lapse() const noexcept override { return true; }
    guard::Descriptor anchor() const override { return {}; }

private:
    /// What one try to enter found.
    struct Attempt {
        enum Outcome { entered, taken, young, failed } outcome;
        Lease lease{};
        std::string holder;
        Error error{Fault::internal, ""};
        bool passing = false;    ///< failed, but a later try may do better
        bool by_server = false;  ///< failed, and it was the server that said so
    };
    /// What a waiter knows about the server.
    struct Contact {
        Deadline first_answer;  ///< the first answer must have come by then
        bool answered = false;
        bool in_trouble = false;
        Backoff backoff = {};
        std::optional<Error> complaint = {};  ///< the last error that the server itself gave
    };
    enum class Renewal { done, foreign, failed };

    Attempt attempt(Deadline until, Poller& poller);
    Attempt read_answer(const redisReply& reply, Deadline asked);
    std::optional<Error> verdict(const Attempt& tried, const guard::Patience& patience,
                                 const Contact& contact) const;
    Duration rest_after(const Attempt& tried, Contact& contact);
    Renewal renew(Deadline& deadline, LeasedRun& run);
    Renewal renewal_failed(const Error& error);
    Result<std::string> ask_renewal(bool restore, Deadline until, Poller& poller);

    void tell(Level level, std::string_view event, std::string text) const {
        reporter_({level, event, std::move(text), {{"store", session_.text()}}});
    }

    Session session_;
    Duration connect_timeout_;
    Duration response_timeout_;
    Duration retry_interval_;
    guard::Claim claim_;
    std::string fence_key_;
    guard::Reporter reporter_;

    bool asked_ = false;          ///< an entry was asked for, and the slot may be ours
    bool server_is_old_ = false;  ///< the server is known to be older than the grace
    std::string trouble_;         ///< what renewals fail with at present
};

Result<Lease> RedisStore::enter(const guard::Patience& patience, Poller& poller,
                                const OnTaken& on_taken) {
    Contact contact{after(BootClock::now(), connect_timeout_)};
    for (;;) {
        const Attempt tried =
            attempt(contact.answered ? after(BootClock::now(), response_timeout_)
                                     : std::min(contact.first_answer, patience.until),
                    poller);
        if (tried.outcome == Attempt::entered) return tried.lease;
        if (tried.by_server) contact.complaint = tried.error;
        if (auto error = verdict(tried, patience, contact)) return *error;
        // A try comes often enough for whatever is told of it.
        if (tried.outcome == Attempt::taken) (void)on_taken(tried.holder);

        Deadline again = after(BootClock::now(), rest_after(tried, contact));
        // Whoever comes too early at a young server might overlap with one that still holds a
        // lease.
        if (tried.outcome != Attempt::young) again = std::min(again, patience.until);
        Wake wake = session_.idle(again, poller);
        if (wake ==
            Wake::ready) {  // cut off, perhaps by a restart or a failover: holders come first
            server_is_old_ = false;
            wake = session_.idle(after(BootClock::now(), grace), poller);
        }
        if (wake == Wake::interrupted) return interrupted();
    }
}

RedisStore::Attempt RedisStore::attempt(Deadline until, Poller& poller) {
    if (const auto connected = session_.connect(until, poller); !connected)
        return {.outcome = Attempt::failed, .error = connected.error()};
    asked_ = true;
    const Deadline asked = BootClock::now();
    const auto reply = session_.evaluate(
        enter_script, 2,
        {claim_.key, fence_key_, claim_.token, milliseconds(claim_.ttl), milliseconds(fence_ttl),
         server_is_old_ ? "0" : std::to_string(grace.count())},
        until, poller);
    if (!reply) return {.outcome = Attempt::failed, .error = reply.error(), .passing = true};
    Attempt tried = read_answer(**reply, asked);
    asked_ = tried.outcome == Attempt::entered || tried.outcome == Attempt::failed;
    server_is_old_ = tried.outcome != Attempt::failed;
    return tried;
}

RedisStore::Attempt RedisStore::read_answer(const redisReply& reply, Deadline asked) {
    if (reply.type == REDIS_REPLY_ERROR)
        return {.outcome = Attempt::failed,
                .error = session_.named(plain_words(text_of(reply))),
                .passing = passes_by_itself(text_of(reply)),
                .by_server = true};
    const auto word = text_at(reply, 0);
    const auto detail = text_at(reply, 1);
    if (word == "taken") return {.outcome = Attempt::taken, .holder = std::string(detail)};
    if (word == "young") return {.outcome = Attempt::young};
    std::uint64_t fence = 0;
    const auto [end, error] = std::from_chars(detail.data(), detail.data() + detail.size(), fence);
    if (word != "entered" || error != std::errc{})
        return {
            .outcome = Attempt::failed,
            .error = session_.named({Fault::internal, "its answer to an entry makes no sense"})};
    return {.outcome = Attempt::entered, .lease = {guard::lease_end(asked, claim_.ttl), fence}};
}

/// The error that ends the wait, if this try was the last one.
std::optional<Error> RedisStore::verdict(const Attempt& tried, const guard::Patience& patience,
                                         const Contact& contact) const {
    const auto now = BootClock::now();
    const bool wait_is_over = patience.once || now >= patience.until;
    if (tried.outcome == Attempt::taken && wait_is_over) return Error{Fault::taken, tried.holder};
    if (tried.outcome != Attempt::failed) return std::nullopt;
    // A store that is down from the start is told soon; one that goes down later may come back.
    const bool may_pass =
        tried.error.fault == Fault::unreachable &&
        (contact.answered || (tried.passing && after(now, longest_pause) < contact.first_answer));
    if (may_pass && !wait_is_over) return std::nullopt;
    // What a server has said tells more than that it was too slow to say it again.
    const bool silent = tried.error.fault == Fault::unreachable && !contact.answered;
    return silent ? contact.complaint.value_or(tried.error) : tried.error;
}

/// How long to wait before the next try.
Duration RedisStore::rest_after(const Attempt& tried, Contact& contact) {
    if (tried.outcome == Attempt::failed) {
        if (!contact.in_trouble)
            tell(Level::notice, "store-trouble", tried.error.text + "; trying again");
        contact.in_trouble = true;
        session_.drop();
        // Who was connected cannot tell a cut from a restart: holders come first.
        return contact.answered ? grace : contact.backoff.next();
    }
    contact.answered = true;
    contact.in_trouble = false;
    if (tried.outcome == Attempt::young) {
        tell(Level::detail, "store-young",
             "the store has just started: those who held leases get 1 s to come back first");
        return grace;
    }
    // Ten per cent up or down, so that waiters who came together do not stay together.
    thread_local std::minstd_rand random{std::random_device{}()};
    const double factor = std::uniform_real_distribution<>(0.9, 1.1)(random);
    return std::chrono::duration_cast<Duration>(retry_interval_ * factor);
}

Holding RedisStore::hold(const Lease& lease, LeasedRun& run) {
    Deadline deadline = lease.deadline;
    const Duration beat = claim_.renew ? claim_.ttl / 3 : Duration::max();
    Deadline next = after(BootClock::now(), beat);
    Backoff backoff;
    for (;;) {
        const Wake wake = session_.idle(std::min(next, deadline), run);
        if (wake == Wake::interrupted) return {};
        if (BootClock::now() >= deadline)
            return {true, claim_.renew ? "it could not be renewed in time" : "its time is over"};
        if (!claim_.renew) continue;     // the connection is of no use until the release
        switch (renew(deadline, run)) {  // also at once when the server has cut us off
            case Renewal::done:
                next = after(BootClock::now(), beat);
                backoff = {};
                break;
            case Renewal::foreign:
                return {true, "somebody else holds the slot now"};
            case Renewal::failed:
                next = after(BootClock::now(), backoff.next());
                break;
        }
    }
}

/// One try to renew. After a failure it may be tried again until the deadline.
RedisStore::Renewal RedisStore::renew(Deadline& deadline, LeasedRun& run) {
    // A short lease leaves time for a second try, too.
    const Duration answer_time = std::min(response_timeout_, claim_.ttl / 6);
    const auto within = [&](Duration span) {
        return std::min(deadline, after(BootClock::now(), span));
    };
    if (auto up = session_.connect(within(connect_timeout_), run); !up)
        return renewal_failed(up.error());

    Deadline asked = BootClock::now();
    auto answer = ask_renewal(false, within(answer_time), run);
    if (answer && *answer == "missing") {
        // Asked for in a second step, so that a request which a stuck server executes late never
        // brings back the key of a holder that is gone.
        asked = BootClock::now();
        if (asked < deadline) answer = ask_renewal(true, within(answer_time), run);
    }
    if (!answer) return renewal_failed(answer.error());
    if (*answer == "foreign") return Renewal::foreign;
    if (*answer == "missing") return Renewal::failed;
    if (*answer == "restored")
        tell(Level::notice, "lease-restored", "the store had lost the lease; it is set again");
    else if (!trouble_.empty())
        tell(Level::notice, "renewal-resumed", "the lease is renewed again");
    trouble_.clear();
    deadline = guard::lease_end(asked, claim_.ttl);
    run.extended(deadline);
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

Result<std::string> RedisStore::ask_renewal(bool restore, Deadline until, Poller& poller) {
    auto reply = session_.evaluate(
        renew_script, 1, {claim_.key, claim_.token, milliseconds(claim_.ttl), restore ? "1" : "0"},
        until, poller);
    if (!reply) return reply.error();
    if ((*reply)->type == REDIS_REPLY_ERROR) return session_.named(plain_words(text_of(**reply)));
    return std::string(text_of(**reply));
}

Result<Done> RedisStore::release(Deadline until, Poller& poller) {
    if (!asked_) return Done{};
    if (auto connected = session_.connect(until, poller); !connected) return connected;
    auto reply = session_.evaluate(release_script, 1, {claim_.key, claim_.token}, until, poller);
    if (!reply) return reply.error();
    if ((*reply)->type == REDIS_REPLY_ERROR) return session_.named(plain_words(text_of(**reply)));
    asked_ = false;
    return Done{};
}

Result<bool> RedisStore::held_by(const std::string& token, Deadline until, Poller& poller) {
    if (auto connected = session_.connect(until, poller); !connected) return connected.error();
    const auto reply = session_.request({"GET", claim_.key}, until, poller);
    if (!reply) return reply.error();
    return (*reply)->type == REDIS_REPLY_STRING && text_of(**reply) == token;
}

}  // namespace

Result<std::unique_ptr<Store>> open(const Url& url, const Access& access, guard::Claim claim,
                                    guard::Reporter reporter) {
    auto endpoint = Endpoint::from(url, access.password);
    if (!endpoint) return endpoint.error();
    return std::unique_ptr<Store>(std::make_unique<RedisStore>(
        std::move(*endpoint), access, std::move(claim), std::move(reporter)));
}

std::string fence_key(const std::string& key) {
    // A hash tag is what stands between the first '{' and the next '}', if it is not empty: the
    // cluster specification. Where the key has one, the fence starts with the same. So a fence
    // always starts with '{', and no slot of a sane prefix can have its name. A key with a '}' and
    // no tag cannot be wrapped: its fence is in another hash slot, which matters in a cluster only.
    const auto open = key.find('{');
    const auto close = open == key.npos ? key.npos : key.find('}', open + 1);
    const bool tagged = close != key.npos && close > open + 1;
    return tagged ? key.substr(open, close + 1 - open) + ":" + key + ":fence"
                  : "{" + key + "}:fence";
}

}  // namespace store::redis
