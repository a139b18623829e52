#pragma once

#include "guard/clock.hpp"
#include "guard/descriptor.hpp"
#include "run/order.hpp"
#include "run/signals.hpp"

namespace run {

/// Why a run is over, as cleanup commands are told by SANDBOX_LOCK_REASON.
enum class Reason {
    exit,        ///< the command has ended by itself
    signal,      ///< a signal has ended it that nobody sent by us
    lost,        ///< the lease was lost
    interrupted  ///< a signal that was sent to us has ended it, or one of us was killed
};

/// What there is to know for those who clean up behind a run.
struct Ending {
    Reason reason;
    int wait_status;          ///< the command's
    bool forced;              ///< its work has to end, too, where that goes on in a container
    guard::Deadline started;  ///< when the command was
    guard::Deadline kill_at;  ///< when work that heeds no TERM gets KILL
};

/// How cleaning up went.
struct Cleaned {
    bool badly = false;      ///< something may be left
    bool work_left = false;  ///< work went on in a container after its client had ended

    /// As the cleaner's exit status, and back from it.
    [[nodiscard]] int as_status() const noexcept { return (badly ? 1 : 0) | (work_left ? 2 : 0); }
    [[nodiscard]] static Cleaned from_status(int status) noexcept {
        return {(status & 1) != 0, (status & 2) != 0};
    }
};

/// The whole of the cleaner process: ends what is left in the container, then runs the cleanup
/// commands one after the other, whatever becomes of each. `container_id` has what
/// container::ask_for_id has printed by now. Complaints, a line each, go to `complaints`.
[[nodiscard]] Cleaned clean(const Order& order, const Ending& ending,
                            const guard::Descriptor& container_id, const OriginalSignals& original,
                            int complaints);

/// The wait status that counts: where work was left behind by a client which ended well, it has not
/// gone well.
[[nodiscard]] int counted_status(const Ending& ending, Cleaned cleaned) noexcept;

}  // namespace run
