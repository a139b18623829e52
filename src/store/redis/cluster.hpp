#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/url.hpp"

namespace store::redis {

/// What a cluster's node says of where a key is: "Redirection and resharding" in the cluster
/// specification.
struct Redirection {
    bool once;        ///< ASK: for this request only, as the hash slot is being moved
    HostPort server;  ///< an empty host: that of the node which said so
};

/// Reads `MOVED 3999 127.0.0.1:6381` and the same with ASK; none where it is another error.
[[nodiscard]] std::optional<Redirection> redirection_in(std::string_view error_reply);

/// A node of a cluster.
struct Node {
    HostPort server;
    bool is_master;
};

/// The nodes in an answer to CLUSTER SLOTS, each once, masters first; an empty host is that of the
/// node which answered.
[[nodiscard]] std::vector<Node> nodes_in(const redisReply& slots);

/// The hash slot of a key: CRC16 of its hash tag, or of all of it where it has none.
[[nodiscard]] unsigned hash_slot(std::string_view key) noexcept;

/// The hash tag of a key: what stands between its first `{` and the next `}`; empty where there is
/// none.
[[nodiscard]] std::string_view hash_tag(std::string_view key) noexcept;

}  // namespace store::redis
