#include "support/redis_server.hpp"

#include <algorithm>

namespace support {

RedisServer::RedisServer(std::vector<std::string> options)
    : RedisNode({.options = std::move(options)}) {
    wait_old();
}

std::string RedisServer::url() const {
    return "redis://127.0.0.1:" + port();
}

std::string RedisServer::unix_url() const {
    return "redis+unix://" + socket();
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

RedisServer& shared_redis() {
    static RedisServer server;
    return server;
}

}  // namespace support
