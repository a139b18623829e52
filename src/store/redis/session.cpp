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

Error Session::named(Error error) const {
    if (error.fault != Fault::interrupted) error.text = "store " + text() + ": " + error.text;
    return error;
}

Result<Done> Session::connect(Deadline until, Poller& poller) {
    if (connection_) return Done{};
    auto opened = Connection::open(endpoint_, until, poller);
    if (!opened) return named(opened.error());
    connection_ = std::move(*opened);
    return Done{};
}

Result<Reply> Session::evaluate(const Script& script, std::size_t key_count,
                                std::initializer_list<std::string_view> words, Deadline until,
                                Poller& poller) {
    const std::string keys = std::to_string(key_count);
    std::vector<std::string_view> command{"EVALSHA", script.sha1, keys};
    command.insert(command.end(), words);
    auto reply = connection_->request(command, until, poller);
    if (!reply) return named(reply.error());
    if ((*reply)->type != REDIS_REPLY_ERROR || !text_of(**reply).starts_with("NOSCRIPT"))
        return reply;
    command[0] = "EVAL";
    command[1] = script.text;
    reply = connection_->request(command, until, poller);
    if (!reply) return named(reply.error());
    return reply;
}

Result<Reply> Session::request(std::initializer_list<std::string_view> command, Deadline until,
                               Poller& poller) {
    auto reply = connection_->request({command.begin(), command.size()}, until, poller);
    if (!reply) return named(reply.error());
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
