#pragma once

#include <string>

#include "support/process.hpp"
#include "support/recipes.hpp"

namespace support {

/// A step of a GitHub workflow, as GitHub's runner does it on Linux.
class GithubStep {
public:
    /// Has bash run the script that stands behind `run:` in a workflow.
    GithubStep(const Workplace& place, const std::string& script);

    /// Signals the step's first process, and nobody else: INT, TERM after 7.5 s, KILL after
    /// another 2.5 s. Returns the last of these that was needed.
    int cancel();
    [[nodiscard]] Process& process() noexcept { return process_; }

private:
    Process process_;
};

}  // namespace support
