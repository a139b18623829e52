#pragma once

#include <string>
#include <vector>

#include "guard/clock.hpp"
#include "guard/descriptor.hpp"

namespace container {

/// What an engine's client has said.
struct Answer {
    int status = -1;     ///< its exit status; -1 where it did not end in time or by itself
    std::string output;  ///< of both standard output and error

    [[nodiscard]] bool good() const noexcept { return status == 0; }
};

/// Runs `words` with no input and waits for its end, or kills it at `until`: with an engine that
/// hangs, its client hangs for ever. Signals that are blocked here are not blocked there.
[[nodiscard]] Answer call(const std::vector<std::string>& words, guard::Deadline until);

/// Starts `words` and returns where their output will come, never waiting; as a child of this
/// process, which is expected to reap whatever it is given.
[[nodiscard]] guard::Descriptor start(const std::vector<std::string>& words);

}  // namespace container
