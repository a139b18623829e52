#pragma once

#include <string>

namespace store::redis {

/// The keys beside a slot's own, in the same hash slot of a cluster: `{key}:fence` and so on, or
/// `{tag}:key:fence` where `key` has a hash tag of its own or cannot be one.
struct CompanionKeys {
    explicit CompanionKeys(const std::string& key);

    std::string fence;     ///< the counter of entries
    std::string queue;     ///< the waiters by arrival
    std::string presence;  ///< until when each waiter counts as present
    std::string mixed;     ///< that clients take part which do not know the queue
};

}  // namespace store::redis
