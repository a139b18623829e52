#pragma once

#include <cstdint>
#include <string>

#include "bench/spawn.hpp"

namespace bench {

/// User-mode instructions of one run, by process. The command itself is not among them.
struct Instructions {
    std::uint64_t first = 0;   ///< the process that was started: of sandbox-lock, the keeper
    std::uint64_t forked = 0;  ///< what it forked: the warden
};

/// Counted by valgrind's callgrind.
[[nodiscard]] Instructions instructions_of(const Words& argv, const std::string& valgrind);

}  // namespace bench
