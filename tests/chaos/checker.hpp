#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/evidence.hpp"
#include "chaos/permitted.hpp"

namespace chaos {

/// What the evidence says.
struct Verdict {
    std::vector<std::string> violations;
    std::map<std::string_view, int> permitted;  ///< overlaps, by what permits them
    std::size_t entries = 0;
    std::size_t pairs = 0;             ///< of waiters whose order was looked at
    std::size_t waits = 0;             ///< of runs that nothing disturbed
    Duration longest_wait{};           ///< of any run that entered
    Duration longest_handover{};       ///< between two entries, while somebody waited
    Duration longest_calm_handover{};  ///< the same where no fault was near
};

/// Looks for all that must not be.
[[nodiscard]] Verdict judge(const Evidence& evidence);

}  // namespace chaos
