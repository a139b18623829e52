#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace store::redis {

/// How long a fence is kept, in ms: a day. One that expires starts again from the server's time, so
/// this only saves memory.
inline constexpr std::string_view fence_ttl = "86400000";

/// The keys beside a slot's own, in the same hash slot of a cluster: `{key}:fence` and so on, or
/// `{tag}:key:fence` where `key` has a hash tag of its own or cannot be one.
struct CompanionKeys {
    explicit CompanionKeys(const std::string& key);

    /// The first `count` keys of `key`'s slot as scripts take them: its own, then the companions.
    [[nodiscard]] std::vector<std::string_view> with(std::string_view key, std::size_t count) const;

    std::string fence;     ///< the counter of entries
    std::string queue;     ///< the waiters by arrival
    std::string presence;  ///< until when each waiter counts as present
    std::string mixed;     ///< that clients take part which do not know the queue
};

/// `text` as a pattern that stands for itself: KEYS, "Supported glob-style patterns".
[[nodiscard]] std::string literal_pattern(std::string_view text);

}  // namespace store::redis
