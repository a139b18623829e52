#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guard/poller.hpp"
#include "guard/result.hpp"
#include "store/store.hpp"

namespace store {

/// A slot as it is found.
struct SlotState {
    std::string key;                           ///< the store key
    std::string holder;                        ///< the token; empty while the slot is free
    std::optional<guard::Duration> left = {};  ///< of the lease, where it lapses
    long long waiters = 0;
};

/// What became of a break.
enum class Broken {
    yes,    ///< the slot has the new token, or is free by force
    other,  ///< somebody else holds it, or nobody: nothing was changed
};

/// Looks at slots from outside, and can take one away from its holder.
class Observer {
public:
    virtual ~Observer() = default;

    /// The slots whose keys start with `prefix` and that are held, sorted by key.
    virtual guard::Result<std::vector<SlotState>> held(const std::string& prefix,
                                                       guard::Poller& poller) = 0;

    /// One slot, held or not.
    virtual guard::Result<SlotState> look(const std::string& key, guard::Poller& poller) = 0;

    /// Takes the slot away from the holder with the token `holder`, and from nobody else: puts
    /// `token` in its place until the lease would have ended, or, if that is empty, frees the slot
    /// at once. Where a store cannot do that, the error says why.
    virtual guard::Result<Broken> take_away(const std::string& key, const std::string& holder,
                                            const std::string& token, guard::Poller& poller) = 0;
};

/// An observer of the store that the URL's scheme names. Errors are those of `open`.
[[nodiscard]] guard::Result<std::unique_ptr<Observer>> observe(const Access& access,
                                                               const guard::Reporter& reporter);

}  // namespace store
