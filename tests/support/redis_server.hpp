#pragma once

#include <string>
#include <vector>

#include "support/redis_node.hpp"

namespace support {

/// A server that is all of the store.
class RedisServer : public RedisNode {
public:
    /// Returns when it answers and is older than the grace that holders get after a restart.
    explicit RedisServer(std::vector<std::string> options = {});

    [[nodiscard]] std::string url() const;       ///< redis://127.0.0.1:PORT
    [[nodiscard]] std::string unix_url() const;  ///< redis+unix://PATH

    /// All keys, sorted, one a line.
    std::string keys() const;
};

/// The server that the tests of one program share: starting one takes more than a second.
RedisServer& shared_redis();

}  // namespace support
