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

/// How cleaning up went; the cleaner's exit status.
enum class Cleaned : int {
    well,
    badly,       ///< something may be left
    ended_work,  ///< well, but work went on in a container after its client had ended
};

/// The whole of the cleaner process: ends what is left in the container, then runs the cleanup
/// commands one after the other, whatever becomes of each. `container_id` has what
/// container::ask_for_id has printed by now. Complaints, a line each, go to `complaints`.
[[nodiscard]] Cleaned clean(const Order& order, const Ending& ending,
                            const guard::Descriptor& container_id, const OriginalSignals& original,
                            int complaints);

/// The wait status that counts: work that was ended behind the back of a client which ended well
/// has not gone well.
[[nodiscard]] int counted_status(const Ending& ending, Cleaned cleaned) noexcept;

}  // namespace run
