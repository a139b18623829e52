#include "support/redis_node.hpp"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>

#include "support/secret.hpp"

namespace support {
namespace {

using Context = std::unique_ptr<redisContext, void (*)(redisContext*)>;
using Reply = std::unique_ptr<redisReply, void (*)(redisReply*)>;

Context connect_to(const std::string& socket) {
    Context context{redisConnectUnixWithTimeout(socket.c_str(), timeval{2, 0}), redisFree};
    if (context && context->err == 0) redisSetTimeout(context.get(), timeval{5, 0});
    return context;
}

Reply ask(redisContext* context, const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    std::vector<std::size_t> lengths;
    for (const auto& word : words) {
        argv.push_back(word.data());
        lengths.push_back(word.size());
    }
    return {static_cast<redisReply*>(redisCommandArgv(context, static_cast<int>(argv.size()),
                                                      argv.data(), lengths.data())),
            [](redisReply* reply) { freeReplyObject(reply); }};
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

bool is_free(int port) {
    const guard::Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

/// One that is free, as is that `above` it if that is not 0. Below those that outgoing connections
/// get: one of them could take the port before the server does, or while the server is away.
std::string port_with(int above) {
    std::random_device random;
    std::uniform_int_distribution ports{10'240, 32'767 - above};
    for (int tries = 0; tries < 1000; ++tries) {
        const int port = ports(random);
        if (is_free(port) && (above == 0 || is_free(port + above))) return std::to_string(port);
    }
    throw std::runtime_error("no free port");
}

/// Any server of the kind, such as valkey-server; a name or a path.
std::string server_program() {
    const char* program = std::getenv("SANDBOX_LOCK_TEST_SERVER");
    return program == nullptr ? "redis-server" : program;
}

}  // namespace

std::string free_port() {
    return port_with(0);
}

std::string free_cluster_port() {
    return port_with(10'000);
}

RedisNode::RedisNode(NodeSetup setup) : setup_(std::move(setup)), socket_(dir_ / "redis.sock") {
    // Not by options, which all may read.
    if (!setup_.password.empty())
        setup_.config +=
            "requirepass " + setup_.password + "\nmasterauth " + setup_.password + "\n";
    write_file(dir_ / "node.conf", setup_.config);
    start();
}

void RedisNode::start(const std::vector<std::string>& more_options) {
    std::vector<std::string> argv{server_program(), dir_ / "node.conf"};
    const auto add = [&](const std::vector<std::string>& words) {
        argv.insert(argv.end(), words.begin(), words.end());
    };
    add({"--port", setup_.port, "--bind", "127.0.0.1", "--unixsocket", socket_, "--save", "",
         "--appendonly", "no", "--dir", dir_ / "", "--loglevel", "warning"});
    add(setup_.options);
    add(more_options);
    process_.emplace(argv, Launch{.environment = setup_.environment});
    stopped_ = false;
    const auto answers = [&] { return command({"PING"}).has_value(); };
    if (!eventually([&] { return answers() || process_->ended(); }) || process_->ended())
        throw std::runtime_error(server_program() + " does not start: " + process_->out());
}

std::optional<std::string> RedisNode::command(const std::vector<std::string>& words) const {
    const auto context = connect_to(socket_);
    if (!context || context->err != 0) return std::nullopt;
    if (!setup_.password.empty() && !ask(context.get(), {"AUTH", setup_.password}))
        return std::nullopt;
    const auto reply = ask(context.get(), words);
    if (!reply || reply->type == REDIS_REPLY_NIL) return std::nullopt;
    auto text = as_text(*reply);
    check_no_secret(text, "what the server has");
    return text;
}

std::string RedisNode::value_of(const std::string& name,
                                const std::vector<std::string>& words) const {
    const std::string text = "\n" + command(words).value_or("");
    const auto at = text.find("\n" + name + ":");
    if (at == text.npos) return {};
    const auto start = at + name.size() + 2;
    return text.substr(start, text.find_first_of("\r\n", start) - start);
}

void RedisNode::wait_old() const {
    if (!eventually([&] {
            const auto age = value_of("uptime_in_seconds", {"INFO", "server"});
            return !age.empty() && age != "0" && age != "1";
        }))
        throw std::runtime_error("redis-server does not get older");
}

void RedisNode::stop() {
    process_->signal(SIGSTOP);
    if (!eventually([&] { return state_of(process_->pid()) == 'T'; }))
        throw std::runtime_error("redis-server does not stop");
    stopped_ = true;
}

void RedisNode::resume() {
    process_->signal(SIGCONT);
    stopped_ = false;
}

void RedisNode::kill() {
    process_->signal(SIGKILL);
    process_->wait();
    process_.reset();
    stopped_ = false;
}

}  // namespace support
