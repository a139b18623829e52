#include "store/redis/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "guard/descriptor.hpp"
#include "store/redis/resolve.hpp"
#include "store/redis/tls.hpp"

namespace store::redis {
namespace {

using guard::Deadline;
using guard::Descriptor;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;
using guard::Wake;

Error unreachable(std::string why) {
    return {Fault::unreachable, std::move(why)};
}

/// What a wait that did not find the descriptor ready means.
Error cut_short(Wake wake, const char* what) {
    if (wake == Wake::interrupted) return {Fault::interrupted, "interrupted"};
    return unreachable(what);
}

Result<Descriptor> connect_to(const SocketAddress& address, Deadline until, Poller& poller) {
    const int family = address.storage.ss_family;
    Descriptor socket{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket) return Error{Fault::system, std::string("socket: ") + std::strerror(errno)};
    if (family != AF_UNIX) {
        const int on = 1;  // a command is one small packet; it must not wait for the next
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    if (::connect(socket.get(), name, address.length) == 0) return socket;
    if (errno != EINPROGRESS) return unreachable(std::strerror(errno));
    if (const Wake wake = poller.wait(socket.get(), POLLOUT, until); wake != Wake::ready)
        return cut_short(wake, "no answer to the connection attempt");
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return unreachable(std::strerror(error));
    return socket;
}

/// A UNIX socket with a full backlog refuses with EAGAIN and has no descriptor to wait on; that is
/// reported like any other refusal, and the caller tries again.
SocketAddress unix_address(const std::string& path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    SocketAddress address{};
    std::memcpy(&address.storage, &name, sizeof name);
    address.length = sizeof name;
    return address;
}

/// Tries the addresses in turn; each gets its share of the time that is left.
Result<Descriptor> connect_to_any(const std::vector<SocketAddress>& addresses, Deadline until,
                                  Poller& poller) {
    Error last = unreachable("no address");
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const auto share = guard::first_share(until, addresses.size() - i);
        auto socket = connect_to(addresses[i], share, poller);
        if (socket || socket.error().fault == Fault::interrupted) return socket;
        last = socket.error();
    }
    return last;
}

Result<Descriptor> connect_to(const Endpoint& endpoint, Deadline until, Poller& poller) {
    if (!endpoint.unix_path.empty())
        return connect_to(unix_address(endpoint.unix_path), until, poller);
    const auto addresses = resolve(endpoint.host, endpoint.port, until, poller);
    if (!addresses) return addresses.error();
    return connect_to_any(*addresses, until, poller);
}

}  // namespace

Result<Connection> Connection::open(const Endpoint& endpoint, Deadline until, Poller& poller) {
    if (endpoint.tls)
        if (const auto loaded = endpoint.tls->load(); !loaded) return loaded.error();
    auto socket = connect_to(endpoint, until, poller);
    if (!socket) return socket.error();
    redisOptions options{};
    options.type = REDIS_CONN_USERFD;
    options.endpoint.fd = socket->get();
    options.options = REDIS_OPT_NONBLOCK;
    Context context{redisConnectWithOptions(&options)};
    if (!context || context->err != 0) return Error{Fault::internal, "hiredis has no memory"};
    (void)socket->release();  // the context closes it now
    if (endpoint.tls)
        if (const auto safe = endpoint.tls->secure(*context, endpoint.host, until, poller); !safe)
            return safe.error();

    Connection connection{std::move(context)};
    connection.may_want_tls_ = !endpoint.tls && endpoint.unix_path.empty();
    const auto in = connection.log_in(endpoint, until, poller);
    if (!in) return in.error();
    return connection;
}

Result<Done> Connection::log_in(const Endpoint& endpoint, Deadline until, Poller& poller) {
    const auto demand = [&](std::initializer_list<std::string_view> command) -> Result<Done> {
        const auto reply = request({command.begin(), command.size()}, until, poller);
        if (!reply) return reply.error();
        if (is_error(**reply)) return plain_words(text_of(**reply));
        return Done{};
    };
    if (endpoint.password) {
        const auto in = endpoint.user.empty() ? demand({"AUTH", *endpoint.password})
                                              : demand({"AUTH", endpoint.user, *endpoint.password});
        if (!in) return in;
    }
    if (endpoint.database != 0) return demand({"SELECT", std::to_string(endpoint.database)});
    return Done{};
}

Result<Done> Connection::send(std::span<const std::string_view> command, Deadline until,
                              Poller& poller) {
    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    words.reserve(command.size());
    lengths.reserve(command.size());
    for (const auto word : command) {
        words.push_back(word.data());
        lengths.push_back(word.size());
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(),
                               lengths.data()) != REDIS_OK)
        return broken();
    return send_all(until, poller);
}

Result<Reply> Connection::request(std::span<const std::string_view> command, Deadline until,
                                  Poller& poller) {
    ++overdue_;
    if (const auto sent = send(command, until, poller); !sent) return sent.error();
    for (;;) {
        auto reply = next_reply(until, poller);
        if (!reply || --overdue_ == 0) return reply;
    }
}

Result<bool> Connection::subscribe(const std::string& channel, Deadline until, Poller& poller) {
    const std::array<std::string_view, 2> resp3{"HELLO", "3"};
    const auto hello = request(resp3, until, poller);
    if (!hello) return hello.error();
    if (is_error(**hello)) return false;
    in_cluster_ = field(**hello, "mode") == "cluster";

    const std::array<std::string_view, 2> subscription{"SUBSCRIBE", channel};
    if (const auto sent = send(subscription, until, poller); !sent) return sent.error();
    auto answer = next_of_any_kind(until, poller);
    if (!answer) return answer.error();
    subscribed_ = (*answer)->type == REDIS_REPLY_PUSH;
    return subscribed_;
}

Result<bool> Connection::track(Deadline until, Poller& poller) {
    const std::array<std::string_view, 4> command{"CLIENT", "TRACKING", "ON", "NOLOOP"};
    const auto reply = request(command, until, poller);
    if (!reply) return reply.error();
    tracking_ = (*reply)->type != REDIS_REPLY_ERROR;
    return tracking_;
}

Reply Connection::next_push() noexcept {
    if (pushes_.empty()) return nullptr;
    auto push = std::move(pushes_.front());
    pushes_.pop_front();
    return push;
}

Result<Done> Connection::send_all(Deadline until, Poller& poller) {
    for (int done = 0;;) {
        if (redisBufferWrite(context_.get(), &done) != REDIS_OK) return broken();
        if (done != 0) return Done{};
        if (const Wake wake = poller.wait(fd(), POLLOUT, until); wake != Wake::ready)
            return cut_short(wake, "the server takes no more data");
    }
}

Result<Reply> Connection::next_reply(Deadline until, Poller& poller) {
    for (;;) {
        auto reply = next_of_any_kind(until, poller);
        if (!reply || (*reply)->type != REDIS_REPLY_PUSH) return reply;
        pushes_.push_back(std::move(*reply));
    }
}

Result<Reply> Connection::next_of_any_kind(Deadline until, Poller& poller) {
    for (void* reply = nullptr;;) {
        if (redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) return broken();
        if (reply != nullptr) {
            may_want_tls_ = false;
            return Reply{static_cast<redisReply*>(reply)};
        }
        if (const Wake wake = poller.wait(fd(), POLLIN, until); wake != Wake::ready)
            return cut_short(wake, "the server does not answer");
        if (!read()) return broken();
    }
}

/// Reads until nothing is left that poll(2) could not tell of.
bool Connection::read() noexcept {
    do {
        if (redisBufferRead(context_.get()) != REDIS_OK) return false;
    } while (tls_holds_data(*context_));
    return true;
}

bool Connection::still_open() noexcept {
    return read() && sort_received();
}

bool Connection::sort_received() noexcept {
    for (;;) {
        void* late = nullptr;
        if (redisGetReplyFromReader(context_.get(), &late) != REDIS_OK) return false;
        Reply reply{static_cast<redisReply*>(late)};
        if (!reply) return true;
        if (reply->type == REDIS_REPLY_PUSH)
            pushes_.push_back(std::move(reply));
        else
            --overdue_;
    }
}

Error Connection::broken() const {
    if (auto fault = tls_fault(*context_)) return *fault;
    // That is how a server which waits for a TLS handshake takes a command.
    const bool reset = context_->err == REDIS_ERR_IO && errno == ECONNRESET;
    if (may_want_tls_ && (reset || context_->err == REDIS_ERR_EOF))
        return unreachable(
            "the server closed the connection without an answer: it is going down, or it wants TLS "
            "and the URL needs rediss://");
    if (context_->err == REDIS_ERR_EOF) return unreachable("the server closed the connection");
    if (context_->err == REDIS_ERR_PROTOCOL)
        return unreachable(std::string("what answers does not speak Redis's protocol: ") +
                           context_->errstr);
    return unreachable(context_->errstr);
}

}  // namespace store::redis
