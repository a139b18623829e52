#pragma once

#include <optional>
#include <string_view>

#include "chaos/evidence.hpp"

namespace chaos {

/// The command of a run with its descendants.
struct Entry {
    const Run* run = nullptr;
    int number = 0;
    std::uint64_t fence = 0;
    Time start{};
    Time end{};   ///< zero: it was ended
    Time last{};  ///< the last sign of it or of a descendant
};

/// Why two may have been in one slot at a time although all is right; none where nothing permits
/// it. This is all that the manual page permits ("What it does not promise") and that chaos does:
/// - "A server whose clock jumps": set forward by more than the margin before the lease's end. Then
///   somebody else may enter until the earlier one's next renewal or the end of its lease, so for
///   no longer than a ttl. (If the other one has left by then, the renewal brings the lease back.)
/// - "Suspended and paused machines": here one that is so busy that this program itself was late by
///   half of the margin shortly before.
/// The rest is avoided: see Nemesis for a server that lost its data, which no holder finds stopped
/// or cut off; Contenders for keeper and warden both out of action, and for descendants of a
/// command that is killed.
[[nodiscard]] std::optional<std::string_view> permitted(const Evidence& evidence,
                                                        const Entry& earlier, const Entry& later);

/// A tenth of the ttl: before the lease's end, KILL comes so much earlier.
[[nodiscard]] constexpr Duration margin_of(Duration ttl) noexcept {
    return ttl / 10;
}

}  // namespace chaos
