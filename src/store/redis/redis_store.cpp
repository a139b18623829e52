#include "store/redis/redis_store.hpp"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <vector>

#include "scripts.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/endpoint.hpp"

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
constexpr Duration grace = 1s;
/// A fence that expires starts again from the server's time, so this only saves memory.
constexpr Duration fence_ttl = 24h;
/// A holder that lost its connection tries again at once, then ever less often.
constexpr Duration first_pause = 50ms;
constexpr Duration longest_pause = 1s;

std::string milliseconds(Duration span) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(span).count());
}

/// Pauses that double between tries that fail.
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

class RedisStore final : public Store {
public:
    RedisStore(Endpoint endpoint, const Access& access, guard::Claim claim, guard::Reporter reporter)
        : endpoint_(std::move(endpoint)),
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

private:
    struct Script {
        std::string_view text;
        std::string_view sha1;
    };
    /// What one try to enter found.
    struct Attempt {
        enum { entered, taken, young, failed } outcome;
        Lease lease{};
        std::string holder;
        Error error{Fault::internal, ""};
        bool passing = false;  ///< failed, but a later try may do better
    };
    enum class Renewal { done, foreign, failed };

    Result<Done> connect(Deadline until, Poller& poller);
    Result<Reply> evaluate(Script script, std::initializer_list<std::string_view> keys_and_arguments,
                           std::string_view key_count, Deadline until, Poller& poller);
    Attempt attempt(Deadline until, Poller& poller);
    Result<std::string> ask_renewal(bool restore, Deadline until, Poller& poller);
    Renewal renew(Deadline& deadline, LeasedRun& run);
    Wake pause(Deadline until, Poller& poller);
    Duration jittered(Duration span);

    void tell(Level level, std::string_view event, std::string text) const {
        reporter_({level, event, std::move(text), {{"store", endpoint_.text()}}});
    }

    Endpoint endpoint_;
    Duration connect_timeout_;
    Duration response_timeout_;
    Duration retry_interval_;
    guard::Claim claim_;
    std::string fence_key_;
    guard::Reporter reporter_;

    std::optional<Connection> connection_;
    bool asked_ = false;         ///< an entry was asked for, and the slot may be ours
    bool fresh_server_ = true;   ///< it is not known yet that the server is older than the grace
    std::string trouble_;        ///< what the last renewal failed with
};

/// Connects where that is not done yet. Its errors name the server.
Result<Done> RedisStore::connect(Deadline until, Poller& poller) {
    if (connection_) return Done{};
    auto opened = Connection::open(endpoint_, until, poller);
    if (!opened) {
        Error error = opened.error();
        if (error.fault != Fault::interrupted)
            error.text = "store " + endpoint_.text() + ": " + error.text;
        return error;
    }
    connection_ = std::move(*opened);
    return Done{};
}

/// EVALSHA, and EVAL where the server does not know the script yet.
Result<Reply> RedisStore::evaluate(Script script,
                                   std::initializer_list<std::string_view> keys_and_arguments,
                                   std::string_view key_count, Deadline until, Poller& poller) {
    std::vector<std::string_view> command{"EVALSHA", script.sha1, key_count};
    command.insert(command.end(), keys_and_arguments);
    auto reply = connection_->request(command, until, poller);
    if (!reply || (*reply)->type != REDIS_REPLY_ERROR || !text_of(**reply).starts_with("NOSCRIPT"))
        return reply;
    command[0] = "EVAL";
    command[1] = script.text;
    return connection_->request(command, until, poller);
}

RedisStore::Attempt RedisStore::attempt(Deadline until, Poller& poller) {
    const auto failed = [&](Error error, bool passing) {
        if (error.fault == Fault::unreachable || error.fault == Fault::denied)
            if (!error.text.starts_with("store "))
                error.text = "store " + endpoint_.text() + ": " + error.text;
        return Attempt{.outcome = Attempt::failed, .error = std::move(error), .passing = passing};
    };
    if (auto connected = connect(until, poller); !connected) return failed(connected.error(), false);

    asked_ = true;
    const Deadline asked = BootClock::now();
    const auto grace_seconds =
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(grace).count());
    auto reply = evaluate({enter_script.text, enter_script.sha1},
                          {claim_.key, fence_key_, claim_.token, milliseconds(claim_.ttl),
                           milliseconds(fence_ttl), fresh_server_ ? grace_seconds : "0"},
                          "2", until, poller);
    if (!reply) return failed(reply.error(), true);
    const auto answer = text_of(**reply);
    if ((*reply)->type == REDIS_REPLY_ERROR) {
        asked_ = false;
        return failed(plain_words(answer), passes_by_itself(answer));
    }
    const auto word = text_at(**reply, 0);
    if (word == "entered") {
        const auto digits = text_at(**reply, 1);
        std::uint64_t fence = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), fence);
        return {.outcome = Attempt::entered,
                .lease = {guard::lease_end(asked, claim_.ttl), fence}};
    }
    asked_ = false;
    if (word == "taken")
        return {.outcome = Attempt::taken, .holder = std::string(text_at(**reply, 1))};
    if (word == "young") return {.outcome = Attempt::young};
    return failed({Fault::internal, "the server's answer to an entry makes no sense"}, false);
}

Result<Lease> RedisStore::enter(const guard::Patience& patience, Poller& poller,
                                const OnTaken& on_taken) {
    // Until the first answer there is a time limit of its own: a store that is down from the start
    // is told soon. Later, a waiter stays: the store may come back.
    const Deadline first_answer = after(BootClock::now(), connect_timeout_);
    bool answered = false;
    bool told_trouble = false;
    Backoff backoff;
    for (;;) {
        const Deadline now = BootClock::now();
        const Deadline limit =
            std::min(patience.until, answered ? after(now, response_timeout_) : first_answer);
        Attempt tried = attempt(limit, poller);
        if (tried.outcome == Attempt::entered) return tried.lease;

        Duration rest{};
        if (tried.outcome == Attempt::failed) {
            const bool over = BootClock::now() >= (answered ? patience.until : first_answer);
            const bool hopeless = tried.error.fault != Fault::unreachable ||
                                  (!answered && !tried.passing) || patience.once || over;
            if (hopeless) return tried.error;
            if (answered) connection_.reset();
            if (!told_trouble)
                tell(Level::notice, "store-trouble", tried.error.text + "; trying again");
            told_trouble = true;
            rest = backoff.next();
            // Whoever lost its connection cannot tell a restart from a cut: holders come first.
            if (answered) rest = std::max(rest, grace);
        } else {
            answered = true;
            told_trouble = false;
            backoff = {};
            fresh_server_ = tried.outcome == Attempt::young ? false : fresh_server_;
        }
        if (tried.outcome == Attempt::taken) {
            fresh_server_ = false;
            if (patience.once || BootClock::now() >= patience.until)
                return Error{Fault::taken, tried.holder};
            on_taken(tried.holder);
            rest = jittered(retry_interval_);
        }
        if (tried.outcome == Attempt::young) {
            tell(Level::detail, "store-young",
                 "the store has just started: giving holders 1 s to come back first");
            rest = grace;
        }
        if (pause(std::min(after(BootClock::now(), rest), patience.until), poller) ==
            Wake::interrupted)
            return Error{Fault::interrupted, "interrupted"};
    }
}

/// Waits for the time; a connection that the server closes meanwhile is let go.
Wake RedisStore::pause(Deadline until, Poller& poller) {
    for (;;) {
        const Wake wake = poller.wait(connection_ ? connection_->fd() : -1, POLLIN, until);
        if (wake != Wake::ready) return wake;
        if (!connection_->still_open()) {
            connection_.reset();
            return wake;
        }
    }
}

/// Ten per cent up or down, so that waiters who came together do not stay together.
Duration RedisStore::jittered(Duration span) {
    thread_local std::minstd_rand random{std::random_device{}()};
    const double factor = std::uniform_real_distribution<>(0.9, 1.1)(random);
    return std::chrono::duration_cast<Duration>(span * factor);
}

Holding RedisStore::hold(const Lease& lease, LeasedRun& run) {
    Deadline deadline = lease.deadline;
    const Duration beat = claim_.renew ? claim_.ttl / 3 : Duration::max();
    Deadline next = after(BootClock::now(), beat);
    Backoff backoff;
    for (;;) {
        // Without renewal the connection is of no use until the release.
        const int watched = claim_.renew && connection_ ? connection_->fd() : -1;
        const Wake wake = run.wait(watched, POLLIN, std::min(next, deadline));
        if (wake == Wake::interrupted) return {};
        if (wake == Wake::ready) {
            if (!connection_->still_open()) {
                connection_.reset();
                next = BootClock::now();
            }
            continue;
        }
        if (BootClock::now() >= deadline)
            return {true, claim_.renew ? "it could not be renewed in time: " + trouble_
                                       : "its time is over, and it is not renewed"};
        switch (renew(deadline, run)) {
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

/// One try. Where it fails it may be tried again until the deadline; `trouble_` says why.
RedisStore::Renewal RedisStore::renew(Deadline& deadline, LeasedRun& run) {
    const auto failed = [&](const Error& error) {
        if (error.fault == Fault::interrupted) return Renewal::failed;
        connection_.reset();
        if (trouble_.empty())
            tell(Level::warning, "renewal-failed", "cannot renew the lease (" + error.text +
                                                       "); trying again until it ends");
        trouble_ = error.text;
        return Renewal::failed;
    };
    const auto limit = [&](Duration span) {
        return std::min(deadline, after(BootClock::now(), span));
    };
    if (auto up = connect(limit(connect_timeout_), run); !up) return failed(up.error());

    Deadline asked = BootClock::now();
    auto answer = ask_renewal(false, limit(response_timeout_), run);
    if (answer && *answer == "missing") {
        // Asked for in a second step, so that a request which a stuck server executes late never
        // brings back the key of a holder that is gone.
        asked = BootClock::now();
        if (asked >= deadline) return Renewal::failed;
        answer = ask_renewal(true, limit(response_timeout_), run);
    }
    if (!answer) return failed(answer.error());
    if (*answer == "foreign") return Renewal::foreign;
    if (*answer == "restored")
        tell(Level::notice, "lease-restored", "the store had lost the lease; it is set again");
    else if (!trouble_.empty())
        tell(Level::notice, "renewal-resumed", "the lease is renewed again");
    trouble_.clear();
    deadline = guard::lease_end(asked, claim_.ttl);
    run.extended(deadline);
    return Renewal::done;
}

Result<std::string> RedisStore::ask_renewal(bool restore, Deadline until, Poller& poller) {
    auto reply = evaluate({renew_script.text, renew_script.sha1},
                          {claim_.key, claim_.token, milliseconds(claim_.ttl), restore ? "1" : "0"},
                          "1", until, poller);
    if (!reply) return reply.error();
    if ((*reply)->type == REDIS_REPLY_ERROR) return plain_words(text_of(**reply));
    return std::string(text_of(**reply));
}

Result<Done> RedisStore::release(Deadline until, Poller& poller) {
    if (!asked_) return Done{};
    if (auto connected = connect(until, poller); !connected) return connected;
    auto reply = evaluate({release_script.text, release_script.sha1}, {claim_.key, claim_.token},
                          "1", until, poller);
    if (!reply) return reply.error();
    if ((*reply)->type == REDIS_REPLY_ERROR) return plain_words(text_of(**reply));
    asked_ = false;
    return Done{};
}

Result<bool> RedisStore::held_by(const std::string& token, Deadline until, Poller& poller) {
    if (auto connected = connect(until, poller); !connected) return connected.error();
    const std::string_view command[] = {"GET", claim_.key};
    auto reply = connection_->request(command, until, poller);
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
    // cluster specification. A key with braces that make no tag cannot be wrapped; it keeps its own
    // slot only where it has no '}' at all.
    const auto open = key.find('{');
    const auto close = open == key.npos ? key.npos : key.find('}', open + 1);
    const bool tagged = close != key.npos && close > open + 1;
    return tagged ? key + ":fence" : "{" + key + "}:fence";
}

}  // namespace store::redis
