#pragma once

#include <sys/types.h>

#include <map>
#include <optional>

#include "guard/clock.hpp"
#include "guard/descriptor.hpp"
#include "run/channel.hpp"
#include "run/cleaner.hpp"
#include "run/command.hpp"
#include "run/order.hpp"
#include "run/signals.hpp"
#include "run/timer.hpp"
#include "run/tree.hpp"

namespace run {

/// The warden's life from the moment the command runs.
class Watch {
public:
    Watch(Channel& channel, Order order, Command command, const OriginalSignals& original,
          pid_t keeper);

    /// Returns when the run has ended and the keeper has been told.
    void run();

private:
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] bool whole_tree_counts() const noexcept;
    [[nodiscard]] guard::Deadline last_call() const noexcept;
    [[nodiscard]] guard::Deadline act(guard::Deadline now);
    void read_news();
    void obey(const Message& message);
    void note_signal(int signal);
    void keeper_is_gone();
    void pass_on(int signal);
    void pass_on_to_group(int signal) const;
    void reap();
    void note(const siginfo_t& child);
    void note_end(int status);
    void let_keeper(int signal) const;
    [[nodiscard]] guard::Deadline in_time(guard::Deadline kill_at) const noexcept;
    void end_tree(guard::Deadline kill_at);
    [[nodiscard]] bool runs_exec() const noexcept;
    void end_soon();
    void signal_inside(int signal);
    [[nodiscard]] Ending ending() const;
    void clean_up();
    void report() const;

    Channel& channel_;
    Order order_;
    Command command_;
    const OriginalSignals& original_;
    pid_t keeper_;
    guard::Deadline deadline_;
    SignalReader signals_ = SignalReader::for_warden();
    TimedPoll poll_;

    std::optional<int> status_;      ///< the command's, once it has ended
    std::optional<TreeEnd> ending_;  ///< set from the first TERM on
    guard::Deadline started_ = guard::BootClock::now();
    guard::Descriptor container_id_;     ///< where it will be read, for an exec
    std::map<pid_t, int> deliveries_{};  ///< processes that bring a signal into the container
    bool lost_ = false;                  ///< the lease, and so the command was ended
    bool told_killing_ = false;
    bool told_survivor_ = false;
    std::optional<guard::Deadline> asked_to_end_;  ///< when a signal that ends runs came last
    bool ended_as_asked_ = false;                  ///< the command's end has to do with that
    bool stopped_ = false;                         ///< the command is stopped
    bool keeper_stops_too_ = false;                ///< a TSTP came by the keeper
};

}  // namespace run
