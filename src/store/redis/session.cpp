#include "store/redis/session.hpp"

#include <poll.h>

#include <vector>

namespace store::redis {

using guard::Deadline;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;
using guard::Wake;

namespace {

/// More than a cluster whose nodes agree ever needs.
constexpr int most_turns = 5;

}  // namespace

Error Session::named(Error error) const {
    if (error.fault != Fault::interrupted) error.text = "store " + text() + ": " + error.text;
    return error;
}

Result<Done> Session::connect(Deadline until, Poller& poller) {
    if (connection_) return Done{};
    auto opened = route_->open(until, poller);
    if (!opened) return named(opened.error());
    connection_ = std::move(*opened);
    ++connections_;
    return Done{};
}

Result<Reply> Session::evaluate(const Script& script, std::span<const std::string_view> keys,
                                std::initializer_list<std::string_view> arguments, Deadline until,
                                Poller& poller) {
    const std::string count = std::to_string(keys.size());
    std::vector<std::string_view> command{"EVALSHA", script.sha1, count};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments);
    auto reply = request(command, until, poller);
    if (!reply) return reply;
    // Either right is enough.
    if (!is_error(**reply, "NOSCRIPT") && !is_error(**reply, "NOPERM")) return reply;
    command[0] = "EVAL";
    command[1] = script.text;
    return request(command, until, poller);
}

Result<Reply> Session::request(std::span<const std::string_view> command, Deadline until,
                               Poller& poller) {
    for (int turns = 0;; ++turns) {
        answered_aside_ = false;
        if (const auto up = connect(until, poller); !up) return up.error();
        auto reply = connection_->request(command, until, poller);
        if (!reply) return named(reply.error());
        if (!is_error(**reply) || turns == most_turns) return reply;
        switch (route_->heed(text_of(**reply))) {
            case Turn::gone:
                drop();
                return reply;
            case Turn::none:
                return reply;
            case Turn::aside:
                return request_aside(command, until, poller);
            case Turn::elsewhere:
                drop();
        }
    }
}

Result<Reply> Session::request_aside(std::span<const std::string_view> command, Deadline until,
                                     Poller& poller) {
    auto aside = route_->open_aside(until, poller);
    if (!aside) return named(aside.error());
    auto reply = aside->request(command, until, poller);
    if (!reply) return named(reply.error());
    answered_aside_ = true;
    return reply;
}

Result<Reply> Session::accepted(Result<Reply> reply) const {
    if (reply && is_error(**reply)) return named(plain_words(text_of(**reply)));
    return reply;
}

Result<bool> Session::subscribe(const std::string& channel, Deadline until, Poller& poller) {
    if (subscribed()) return true;
    auto done = connection_->subscribe(channel, until, poller);
    if (done) return done;
    drop();
    return named(done.error());
}

Result<bool> Session::track(Deadline until, Poller& poller) {
    if (tracking()) return true;
    auto done = connection_->track(until, poller);
    if (!done) return named(done.error());
    return done;
}

Result<Done> Session::explore(Deadline until, Poller& poller) {
    if (const auto up = connect(until, poller); !up) return up;
    if (explored_ == connections_) return Done{};
    auto done = route_->explore(*connection_, until, poller);
    if (!done) return named(done.error());
    explored_ = connections_;
    return done;
}

Wake Session::idle(Deadline until, Poller& poller) {
    if (connection_ && !connection_->sort_received()) drop();
    for (;;) {
        if (connection_ && connection_->has_push()) return Wake::ready;
        const Wake wake = poller.wait(connection_ ? connection_->fd() : -1, POLLIN, until);
        if (wake != Wake::ready) return wake;
        if (connection_->still_open()) continue;
        drop();
        return wake;
    }
}

}  // namespace store::redis
