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
    /// `before_stop` is called before this process stops itself, as for Ctrl-Z.
    Entering(const OriginalSignals& original, const SignalReader& signals,
             std::function<void()> meanwhile, std::function<void()> before_stop)
        : original_(original),
          signals_(signals),
          meanwhile_(std::move(meanwhile)),
          before_stop_(std::move(before_stop)) {}

    [[nodiscard]] guard::Wake wait(int fd, short events, guard::Deadline until) override;

    /// The signal that has come, if one has; looks again at what is pending.
    [[nodiscard]] std::optional<int> interruption();

private:
    void serve_signals();

    const OriginalSignals& original_;
    const SignalReader& signals_;
    std::function<void()> meanwhile_;
    std::function<void()> before_stop_;
    TimedPoll poll_;
    std::optional<int> interruption_;
};

}  // namespace run
