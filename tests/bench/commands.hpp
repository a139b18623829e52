#pragma once

#include "bench/spawn.hpp"
#include "support/redis_node.hpp"

namespace bench {

/// How many commands a server has served so far.
struct Commands {
    long requests = 0;  ///< those that clients sent
    long all = 0;       ///< also those that scripts called; INFO apart, which asks for this
};

/// By `INFO commandstats`, which does not tell the two apart: `requests` are the commands that
/// clients send.
[[nodiscard]] Commands commands_of(const support::RedisNode& server, const Words& requests);

}  // namespace bench
