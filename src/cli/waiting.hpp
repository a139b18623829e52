#pragma once

#include "cli/messages.hpp"
#include "guard/clock.hpp"
#include "store/store.hpp"

namespace cli {

/// What a person reads while the program waits for a slot: at a terminal a line that is drawn again
/// each second, and that is gone with this object; else one line at once, then after 10 s, 30 s,
/// 1 min, 2 min, 4 min …
class WaitingLines {
public:
    /// The wait ends at `until`, or never.
    WaitingLines(Messages& messages, guard::Deadline until) noexcept;
    ~WaitingLines();
    WaitingLines(const WaitingLines&) = delete;
    WaitingLines& operator=(const WaitingLines&) = delete;

    /// How the wait stands. Says so if it is time; returns when it will be next.
    guard::Deadline stands(const store::Standing& standing);

    [[nodiscard]] guard::Duration waited() const noexcept;

private:
    Messages& messages_;
    guard::Deadline until_;
    guard::Deadline start_;
    guard::Deadline next_;
};

}  // namespace cli
