#pragma once

#include <cstdint>
#include <string>

#include "guard/clock.hpp"

namespace guard {

/// What is asked of a store: one slot, for one holder.
struct Claim {
    std::string key;    ///< the store key
    std::string token;  ///< unique for this entry
    Duration ttl;
    bool renew = true;
};

/// The right to run until `deadline`.
struct Lease {
    Deadline deadline;
    std::uint64_t fence;  ///< grows with each entry to the slot
};

/// How long an entry may take.
struct Patience {
    bool once = false;       ///< one try: do not wait for a holder
    Deadline until = never;  ///< stop waiting then
    bool outlasts = false;   ///< wait for a store that is down from the start, too
};

/// What came of holding a lease.
struct Holding {
    bool lost = false;
    std::string why;  ///< for a person, when lost
};

/// When a lease of `ttl` ends, asked for at `asked` (before the request was sent, so that time on
/// the way counts against us), less what two clocks may drift apart meanwhile: NTP slews each by at
/// most 500 ppm (adjtimex(2)), together a thousandth; 10 ms more for the store's own tick.
[[nodiscard]] constexpr Deadline lease_end(Deadline asked, Duration ttl) noexcept {
    return after(asked, ttl - ttl / 1000 - std::chrono::milliseconds{10});
}

}  // namespace guard
