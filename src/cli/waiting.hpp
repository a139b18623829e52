#pragma once

#include <string>

#include "cli/messages.hpp"
#include "guard/clock.hpp"
#include "store/store.hpp"

namespace cli {

/// What a person reads while the program waits for a slot: one line at once, then after 10 s, 30 s,
/// 1 min, 2 min, 4 min …
class WaitingLines {
public:
    explicit WaitingLines(Messages& messages) noexcept;

    /// How the wait stands. Says so if it is time; returns when it will be next.
    guard::Deadline stands(const store::Standing& standing);

    [[nodiscard]] guard::Duration waited() const noexcept;

private:
    Messages& messages_;
    guard::Deadline start_;
    guard::Deadline next_;
};

}  // namespace cli
