#include "support/redis_server.hpp"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "support/secret.hpp"

namespace support {
namespace {

using Context = std::unique_ptr<redisContext, void (*)(redisContext*)>;

Context connect_to(const std::string& socket) {
    Context context{redisConnectUnixWithTimeout(socket.c_str(), timeval{2, 0}), redisFree};
    if (context && context->err == 0) redisSetTimeout(context.get(), timeval{5, 0});
    return context;
}

std::string as_text(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            return std::to_string(reply.integer);
        case REDIS_REPLY_ERROR:
            return "ERROR " + std::string(reply.str, reply.len);
        case REDIS_REPLY_ARRAY: {
            std::string text;
            for (std::size_t i = 0; i < reply.elements; ++i)
                text += (i == 0 ? "" : "\n") + as_text(*reply.element[i]);
            return text;
        }
        default:
            return {reply.str, reply.len};
    }
}

/// Any server of the kind, such as valkey-server; a name or a path.
std::string server_program() {
    const char* program = std::getenv("SANDBOX_LOCK_TEST_SERVER");
    return program == nullptr ? "redis-server" : program;
}

}  // namespace

std::string free_port() {
    const guard::Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        throw std::runtime_error("no free port");
    return std::to_string(ntohs(address.sin_port));
}

RedisServer::RedisServer(std::vector<std::string> options)
    : options_(std::move(options)), port_(free_port()), socket_(dir_ / "redis.sock") {
    start();
    wait_old();
}

void RedisServer::start() {
    std::vector<std::string> argv{
        server_program(), "--port",     port_,    "--bind",       "127.0.0.1", "--unixsocket",
        socket_,          "--save",     "",       "--appendonly", "no",        "--dir",
        dir_ / "",        "--loglevel", "warning"};
    argv.insert(argv.end(), options_.begin(), options_.end());
    process_.emplace(argv);
    const auto answers = [&] { return command({"PING"}).has_value(); };
    if (!eventually([&] { return answers() || process_->ended(); }) || process_->ended())
        throw std::runtime_error(server_program() + " does not start: " + process_->out());
}

void RedisServer::wait_old() const {
    if (!eventually([&] {
            const auto info = command({"INFO", "server"}).value_or("");
            return info.find("uptime_in_seconds:0\r") == info.npos &&
                   info.find("uptime_in_seconds:1\r") == info.npos;
        }))
        throw std::runtime_error("redis-server does not get older");
}

std::string RedisServer::url() const {
    return "redis://127.0.0.1:" + port_;
}

std::string RedisServer::unix_url() const {
    return "redis+unix://" + socket_;
}

std::optional<std::string> RedisServer::command(const std::vector<std::string>& words) const {
    const auto context = connect_to(socket_);
    if (!context || context->err != 0) return std::nullopt;
    std::vector<const char*> argv;
    std::vector<std::size_t> lengths;
    for (const auto& word : words) {
        argv.push_back(word.data());
        lengths.push_back(word.size());
    }
    const std::unique_ptr<redisReply, void (*)(redisReply*)> reply{
        static_cast<redisReply*>(redisCommandArgv(context.get(), static_cast<int>(argv.size()),
                                                  argv.data(), lengths.data())),
        [](redisReply* r) { freeReplyObject(r); }};
    if (!reply || reply->type == REDIS_REPLY_NIL) return std::nullopt;
    auto text = as_text(*reply);
    check_no_secret(text, "what the server has");
    return text;
}

std::string RedisServer::keys() const {
    const auto text = command({"KEYS", "*"});
    std::vector<std::string> names;
    std::string all = text.value_or("");
    for (std::size_t start = 0; start < all.size();) {
        const auto end = std::min(all.find('\n', start), all.size());
        names.push_back(all.substr(start, end - start));
        start = end + 1;
    }
    std::ranges::sort(names);
    std::string joined;
    for (const auto& name : names) joined += name + "\n";
    return joined;
}

void RedisServer::stop() {
    process_->signal(SIGSTOP);
    if (!eventually([&] { return state_of(process_->pid()) == 'T'; }))
        throw std::runtime_error("redis-server does not stop");
}

void RedisServer::resume() {
    process_->signal(SIGCONT);
}

void RedisServer::kill() {
    process_->signal(SIGKILL);
    process_->wait();
    process_.reset();
}

RedisServer& shared_redis() {
    static RedisServer server;
    return server;
}

}  // namespace support
