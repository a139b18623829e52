#include "store/redis/redis_examiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "store/redis/scan.hpp"
#include "store/redis/server_findings.hpp"
#include "store/redis/session.hpp"
#include "store/redis/trial.hpp"

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
using guard::Poller;
using guard::Result;
using guard::Wake;

constexpr int round_trips = 20;
/// How long to count keys, at most.
constexpr Duration counting = 2s;
constexpr std::array<std::string_view, 2> agentscope_prefixes{"agentscope:sandbox:lock:",
                                                              "agentscope:guard:"};
constexpr std::string_view give_rights =
    "give the user the rights that sandbox-lock doctor --acl prints";

/// The answer to TIME: seconds and microseconds. Not later than 2096, so that it can be reckoned
/// with.
Duration time_in(const redisReply& reply) noexcept {
    const auto part = [&](std::size_t index, std::uint64_t most) {
        return static_cast<std::int64_t>(
            std::min(number_in(text_at(reply, index)).value_or(0), most));
    };
    return std::chrono::seconds{part(0, 4'000'000'000)} +
           std::chrono::microseconds{part(1, 999'999)};
}

class RedisExaminer final : public Examiner {
public:
    RedisExaminer(const Url& url, const Access& access, std::unique_ptr<Route> route)
        : url_(url), access_(access), session_(std::move(route)) {}

    Result<Done> examine(const Practice& practice, Poller& poller, const OnFinding& tell) override;
    void tidy(Deadline until, Poller& poller) override;

private:
    Result<Done> reach();
    Result<Done> facts();
    Result<Done> login();
    Result<Done> messages();
    Result<Done> tracking();
    Result<Done> enter();
    Result<Done> invalidation();
    Result<Done> renew();
    Result<Done> status();
    Result<Done> queue();
    Result<Done> settings();
    Result<Done> keys();

    Result<Reply> ask(std::initializer_list<std::string_view> command);
    Result<bool> comes(std::string_view kind);
    Result<Reply> evaluate(const Script& script, std::size_t key_count,
                           std::initializer_list<std::string_view> arguments);
    Result<bool> count(KeyCount& count, Session& session, Deadline until);
    const Endpoint& server() const { return session_.route().server(); }
    Deadline soon() const { return after(BootClock::now(), access_.response_timeout); }

    void ok(std::string_view check, std::string text) {
        (*tell_)({check, Verdict::ok, std::move(text)});
    }
    void lacks(std::string_view check, std::string text) {
        (*tell_)({check, Verdict::warn, std::move(text), std::string(give_rights)});
    }
    Result<Done> failed(std::string_view check, const Error& error);

    Url url_;
    Access access_;
    Session session_;
    std::optional<Trial> trial_;

    // While it examines.
    const Practice* practice_ = nullptr;
    Poller* poller_ = nullptr;
    const OnFinding* tell_ = nullptr;

    Latency latency_{};
    Info info_;
    ServerSettings settings_;
    bool slot_is_ours_ = false;
};

Result<Done> RedisExaminer::examine(const Practice& practice, Poller& poller,
                                    const OnFinding& tell) {
    practice_ = &practice;
    poller_ = &poller;
    tell_ = &tell;
    using Step = Result<Done> (RedisExaminer::*)();
    constexpr std::array<Step, 12> steps{
        &RedisExaminer::reach,        &RedisExaminer::facts,    &RedisExaminer::login,
        &RedisExaminer::messages,     &RedisExaminer::tracking, &RedisExaminer::enter,
        &RedisExaminer::invalidation, &RedisExaminer::renew,    &RedisExaminer::status,
        &RedisExaminer::queue,        &RedisExaminer::settings, &RedisExaminer::keys};
    for (const Step step : steps) {
        const auto done = (this->*step)();
        if (done) continue;
        // To tidy up, it connects anew.
        if (done.error().fault != Fault::interrupted) session_.drop();
        return done;
    }
    return Done{};
}

void RedisExaminer::tidy(Deadline until, Poller& poller) {
    if (!trial_) return;
    (void)trial_->leave(until, poller);
    if (session_.connect(until, poller))
        (void)session_.evaluate(tidy_script, trial_->keys(5), {}, until, poller);
    trial_.reset();
}

Result<Reply> RedisExaminer::ask(std::initializer_list<std::string_view> command) {
    return session_.request(command, soon(), *poller_);
}

Result<Reply> RedisExaminer::evaluate(const Script& script, std::size_t key_count,
                                      std::initializer_list<std::string_view> arguments) {
    return session_.evaluate(script, trial_->keys(key_count), arguments, soon(), *poller_);
}

/// Tells it, unless it ends the examination.
Result<Done> RedisExaminer::failed(std::string_view check, const Error& error) {
    if (error.fault == Fault::interrupted || error.fault == Fault::internal) return error;
    (*tell_)({check, Verdict::fail, error.text,
              error.fault == Fault::denied ? std::string(give_rights)
                                           : "see to it that the server can serve"});
    return Done{};
}

/// Whether a message of this kind comes soon.
Result<bool> RedisExaminer::comes(std::string_view kind) {
    for (const Deadline until = soon(); session_.connected();) {
        while (const auto push = session_.next_push())
            if (text_at(*push, 0) == kind) return true;
        const Wake wake = session_.idle(until, *poller_);
        if (wake == Wake::interrupted) return Error{Fault::interrupted, "interrupted"};
        if (wake == Wake::timeout) return false;
    }
    return session_.named({Fault::unreachable, "the server closed the connection"});
}

/// By TIME, which the scripts need, too; it also tells how the clocks differ.
Result<Done> RedisExaminer::reach() {
    const Deadline start = BootClock::now();
    if (auto up = session_.connect(after(start, access_.connect_timeout), *poller_); !up) return up;
    const Duration connecting = BootClock::now() - start;
    std::vector<Duration> spans;
    std::optional<Duration> ahead;
    for (int i = 0; i < round_trips; ++i) {
        const auto clock = std::chrono::system_clock::now().time_since_epoch();
        const auto sent = BootClock::now();
        const auto reply = ask({"TIME"});
        if (!reply) return reply.error();
        const auto text = text_of(**reply);
        // Without a login, for one.
        if (is_error(**reply) && !text.starts_with("NOPERM"))
            return session_.named(plain_words(text));
        const Duration took = BootClock::now() - sent;
        if (!is_error(**reply) && (spans.empty() || took < *std::ranges::min_element(spans)))
            ahead = time_in(**reply) - clock - took / 2;
        spans.push_back(took);
    }
    std::ranges::sort(spans);
    latency_ = {spans[spans.size() / 2], spans.back()};
    (*tell_)(find_reach(server(), connecting, latency_, access_));
    (*tell_)(find_tls(server(), session_.tls(), access_.tls));
    if (ahead) (*tell_)(find_clock(*ahead, spans.front() / 2));
    return Done{};
}

/// What the server says of itself.
Result<Done> RedisExaminer::facts() {
    const auto hello = ask({"HELLO", "2"});
    if (!hello) return hello.error();
    const auto info = ask({"INFO"});
    if (!info) return info.error();
    if (!is_error(**info)) info_ = Info{text_of(**info)};
    const std::array<std::pair<std::string_view, std::string*>, 3> wanted{
        {{"appendfsync", &settings_.appendfsync},
         {"save", &settings_.save},
         {"min-replicas-to-write", &settings_.min_replicas}}};
    for (const auto& [name, value] : wanted) {
        const auto setting = ask({"CONFIG", "GET", name});
        if (!setting) return setting.error();
        if (!is_error(**setting)) *value = field(**setting, name);
    }
    const auto said_in = [&](std::string_view name, const std::string& name_in_info) {
        std::string value{field(**hello, name)};
        return value.empty() ? info_.text(name_in_info) : value;
    };
    const Hello said{said_in("server", "server_name"), said_in("version", "redis_version"),
                     said_in("mode", "redis_mode"), said_in("role", "role")};
    (*tell_)(find_server(said, info_));
    (*tell_)(find_role(said, info_));
    if (info_.empty())
        lacks("restart",
              "no right to INFO: others do not wait after a restart until the holders are back");
    return Done{};
}

Result<Done> RedisExaminer::login() {
    const auto reply = ask({"ACL", "WHOAMI"});
    if (!reply) return reply.error();
    const auto given = server().user.empty() ? "default" : server().user;
    ok("login", fmt::format("as '{}'{}", is_error(**reply) ? given : text_of(**reply),
                            server().password ? "" : ", without a password"));
    return Done{};
}

Result<Done> RedisExaminer::messages() {
    trial_.emplace(url_, access_, practice_->key_prefix);
    const auto slow = fmt::format("; waiters poll, every {}", span_text(access_.retry_interval));
    const auto channel = trial_->companions().queue + ":m-doctor";
    // In a cluster that leads to the node that has the slot.
    if (const auto there = ask({"GET", trial_->key()}); !there) return there.error();
    const auto hears = session_.subscribe(channel, soon(), *poller_);
    if (!hears) return hears.error();
    if (!*hears) {
        lacks("messages", "no right to HELLO 3, SUBSCRIBE or the channel" + slow);
        return Done{};
    }
    const auto sent = ask({"PUBLISH", channel, "doctor"});
    if (!sent) return sent.error();
    if (is_error(**sent)) {
        lacks("messages", "no right to PUBLISH" + slow);
        return Done{};
    }
    const auto heard = comes("message");
    if (!heard) return heard.error();
    if (*heard)
        ok("messages", "RESP3; one to ourselves has arrived");
    else
        lacks("messages", "one to ourselves does not arrive" + slow);
    return Done{};
}

Result<Done> RedisExaminer::tracking() {
    if (!session_.subscribed()) return Done{};
    const auto tracks = session_.track(soon(), *poller_);
    if (!tracks) return tracks.error();
    if (!*tracks)
        lacks(
            "tracking",
            "no right to CLIENT TRACKING: that a client without the queue has left, or an expiry, "
            "is found by polling");
    return Done{};
}

Result<Done> RedisExaminer::enter() {
    if (session_.tracking()) {  // by reading the key
        const auto looked = evaluate(status_script, 4, {});
        if (!looked) return looked.error();
    }
    const auto lease = trial_->enter(*poller_);
    if (!lease) return failed("enter", lease.error());
    slot_is_ours_ = true;
    ok("enter", fmt::format("a slot of its own, {}", trial_->key()));
    return Done{};
}

Result<Done> RedisExaminer::invalidation() {
    if (!session_.tracking() || !slot_is_ours_) return Done{};
    const auto told = comes("invalidate");
    if (!told) return told.error();
    if (*told)
        ok("tracking", "the server tells when a key has changed");
    else
        lacks("tracking", "the server does not tell when a key has changed");
    return Done{};
}

Result<Done> RedisExaminer::renew() {
    if (!slot_is_ours_) return Done{};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(trial_->ttl()).count();
    const auto reply = evaluate(renew_script, 1, {trial_->token(), std::to_string(ms), ""});
    if (!reply) return reply.error();
    if (is_error(**reply)) return failed("renew", session_.named(plain_words(text_of(**reply))));
    if (text_of(**reply) != "renewed")
        return failed("renew", {Fault::unreachable, "the lease was lost within moments"});
    ok("renew", "the lease is extended");
    return Done{};
}

Result<Done> RedisExaminer::status() {
    if (!slot_is_ours_) return Done{};
    const auto reply = evaluate(status_script, 4, {});
    if (!reply) return reply.error();
    if (is_error(**reply)) return failed("status", session_.named(plain_words(text_of(**reply))));
    if (text_at(**reply, 0) != trial_->token())
        return failed("status",
                      {Fault::unreachable, "another holder is shown than the one there is"});
    ok("status", "shows who holds the slot");
    return Done{};
}

/// A second one waits, and the first one leaves.
Result<Done> RedisExaminer::queue() {
    if (!slot_is_ours_) return Done{};
    const auto [released, entered, took] = trial_->hand_over(*poller_);
    if (!entered) {
        const bool in_vain = entered.error().fault == Fault::taken;
        const Error error = in_vain && !released ? released.error() : entered.error();
        if (const auto told = failed(
                "queue",
                in_vain && released ? Error{Fault::unreachable, "who waits is not woken"} : error);
            !told)
            return told;
    } else {
        ok("queue", fmt::format("who waits is in {} after the release", span_text(took)));
    }
    const auto left = trial_->leave(soon(), *poller_);
    if (entered && !released) return failed("release", released.error());
    if (!left) return failed("release", left.error());
    ok("release", "the slot is free again");
    return Done{};
}

Result<Done> RedisExaminer::settings() {
    tidy(soon(), *poller_);
    (*tell_)(find_lease(*practice_, access_, latency_));
    (*tell_)(find_eviction(info_));
    (*tell_)(find_persistence(info_, settings_));
    (*tell_)(find_replicas(info_, settings_, access_.min_replicas));
    // 0 replicas: it answers at once.
    const auto reply = ask({"WAIT", "0", "1"});
    if (!reply) return reply.error();
    if (is_error(**reply) && access_.min_replicas > 0)
        (*tell_)({"wait", Verdict::fail, "no right to WAIT, which --min-replicas needs",
                  std::string(give_rights)});
    else if (is_error(**reply))
        ok("wait", "no right to WAIT, which --min-replicas needs alone");
    else
        ok("wait", "replicas can be waited for");
    return Done{};
}

/// Adds what one server has; false where SCAN is not allowed.
Result<bool> RedisExaminer::count(KeyCount& count, Session& session, Deadline until) {
    Scan scan(count.prefix);
    if (const auto up = session.connect(soon(), *poller_); !up) return up.error();
    do {
        const auto page = scan.next(session, soon(), *poller_);
        if (!page) return page.error();
        if (!scan.take(**page)) return false;
    } while (!scan.is_complete() && BootClock::now() < until);
    count.keys += static_cast<long long>(scan.keys().size());
    count.complete = count.complete && scan.is_complete();
    return true;
}

Result<Done> RedisExaminer::keys() {
    std::vector<KeyCount> counts{{practice_->key_prefix}};
    for (const auto prefix : agentscope_prefixes)
        if (prefix != practice_->key_prefix) counts.push_back({std::string(prefix)});
    const Deadline until = after(BootClock::now(), counting);
    bool allowed = true;
    const auto done = on_each_master(session_, soon(), *poller_, [&](Session& its) -> Result<Done> {
        for (auto& each : counts) {
            if (!allowed) break;
            const auto counted = count(each, its, until);
            if (!counted) return counted.error();
            allowed = *counted;
        }
        return Done{};
    });
    if (!done) return done;
    if (allowed)
        (*tell_)(find_keys(counts));
    else
        lacks("keys", "not known: the right to SCAN is missing, which status without KEY needs");
    return Done{};
}

}  // namespace

Result<std::unique_ptr<Examiner>> examine(const Url& url, const Access& access) {
    // That nobody checks the certificate is a finding.
    auto route = route_by(url, access, [](const guard::Report&) {});
    if (!route) return route.error();
    return std::unique_ptr<Examiner>(
        std::make_unique<RedisExaminer>(url, access, std::move(*route)));
}

}  // namespace store::redis
