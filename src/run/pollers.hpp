#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "guard/poller.hpp"
#include "run/signals.hpp"
#include "run/timer.hpp"

namespace run {

/// Waits with no regard to signals; they stay pending. For what must be finished, such as a
/// release.
class Undisturbed final : public guard::Poller {
public:
    [[nodiscard]] guard::Wake wait(int fd, short events, guard::Deadline until) override;

private:
    TimedPoll poll_;
};

/// Waits while the slot is not ours: a signal that would have ended the command ends the wait.
class Entering final : public guard::Poller {
public:
    /// `meanwhile` is called once, when there is an answer to wait for: what it does costs no time.
    Entering(const OriginalSignals& original, const SignalReader& signals,
             std::function<void()> meanwhile)
        : original_(original), signals_(signals), meanwhile_(std::move(meanwhile)) {}

    [[nodiscard]] guard::Wake wait(int fd, short events, guard::Deadline until) override;

    /// The signal that has come, if one has; looks again at what is pending.
    [[nodiscard]] std::optional<int> interruption();

private:
    void serve_signals();

    const OriginalSignals& original_;
    const SignalReader& signals_;
    std::function<void()> meanwhile_;
    TimedPoll poll_;
    std::optional<int> interruption_;
};

}  // namespace run
