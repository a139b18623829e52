#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guard/clock.hpp"
#include "guard/descriptor.hpp"
#include "run/channel.hpp"
#include "run/cleaner.hpp"
#include "run/order.hpp"
#include "run/signals.hpp"

namespace run {

/// Forks a child of the warden that does `work` and exits with what it returns, as work may block
/// and the warden may not. -1 where that fails.
[[nodiscard]] pid_t fork_aside(Channel& channel, const std::function<int()>& work);

/// The warden's last part: has a cleaner clean up, while the keeper goes on renewing the lease, and
/// ends it if the lease runs out all the same.
class Cleaning {
public:
    Cleaning(Channel& channel, const Order& order, const OriginalSignals& original,
             guard::Deadline deadline)
        : channel_(channel), order_(order), original_(original), deadline_(deadline) {}

    /// Returns when that is done and the keeper has been told. The wait status that counts, as
    /// counted_status gives it.
    [[nodiscard]] int run(const Ending& ending, const guard::Descriptor& container_id);

private:
    [[nodiscard]] guard::Deadline limit() const noexcept;
    [[nodiscard]] std::optional<int> watch(pid_t cleaner, std::vector<pid_t> spared);
    void read_news();
    void report(Cleaned cleaned, const std::string& complaints);

    Channel& channel_;
    const Order& order_;
    const OriginalSignals& original_;
    guard::Deadline deadline_;
    guard::Deadline at_the_latest_{};
};

}  // namespace run
