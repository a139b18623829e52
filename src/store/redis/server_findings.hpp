#pragma once

#include <optional>
#include <string>

#include "store/examiner.hpp"
#include "store/redis/endpoint.hpp"
#include "store/redis/info.hpp"
#include "store/redis/tls.hpp"

namespace store::redis {

// What is to be said of a server, by what it has told: one function a check.

/// What HELLO answers, which any client may ask; or INFO, where there is no HELLO.
struct Hello {
    std::string server;   ///< `redis` or `valkey`; may be empty
    std::string version;  ///< empty: it tells none, and so is older than Redis 6
    std::string mode;     ///< `standalone`, `cluster` or `sentinel`
    std::string role;     ///< `master` or `replica`
};

/// Some settings of the server, each empty where CONFIG GET is not allowed.
struct ServerSettings {
    std::string appendfsync;
    std::string save;
    std::string min_replicas;
};

struct Latency {
    guard::Duration median;
    guard::Duration worst;
};

/// For a check that needs what only INFO tells: there is no right to it.
[[nodiscard]] Finding not_known(std::string_view check);

[[nodiscard]] Finding find_reach(const Endpoint& endpoint, guard::Duration connecting,
                                 const Latency& latency, const Access& access);
[[nodiscard]] Finding find_tls(const Endpoint& endpoint, const std::optional<TlsFacts>& facts,
                               const TlsAccess& access);
[[nodiscard]] Finding find_server(const Hello& hello, const Info& info);
[[nodiscard]] Finding find_role(const Hello& hello, const Info& info);
[[nodiscard]] Finding find_eviction(const Info& info);
[[nodiscard]] Finding find_persistence(const Info& info, const ServerSettings& settings);
/// `wanted`: by --min-replicas.
[[nodiscard]] Finding find_replicas(const Info& info, const ServerSettings& settings, int wanted);

/// `ahead`: by how much the server's clock is ahead of ours, give or take `error`.
[[nodiscard]] Finding find_clock(guard::Duration ahead, guard::Duration error);

[[nodiscard]] Finding find_lease(const Practice& practice, const Access& access,
                                 const Latency& latency);

/// How many lock keys there are under a prefix, as far as was looked.
struct KeyCount {
    std::string prefix;
    long long keys = 0;
    bool complete = true;
};
/// `counts` begins with the prefix in use.
[[nodiscard]] Finding find_keys(const std::vector<KeyCount>& counts);

}  // namespace store::redis
