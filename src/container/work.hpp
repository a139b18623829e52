#pragma once

#include <functional>
#include <string>
#include <vector>

#include "container/target.hpp"
#include "guard/clock.hpp"

namespace container {

// The work that a client has started in a container, looked up there and ended there.
// All of it is blocking code: processes of their own call it.

/// What `docker inspect` is called with to learn the container's id, which stays when its name
/// becomes another's.
[[nodiscard]] std::vector<std::string> ask_for_id(const Target& target);
/// The id in what that has printed; else the container's name.
[[nodiscard]] std::string id_in(const std::string& printed, const Target& target);

/// For an exec: sends `signal` to its processes in the container, or to the first one alone, as the
/// engine's client passes none on. Tries again as long as none is found but `client_lives`, for it
/// may be just starting; false where they could not be reached.
[[nodiscard]] bool deliver(const Target& target, int signal, bool first_alone,
                           const std::function<bool()>& client_lives, guard::Deadline until);

/// How a client has ended.
struct ClientEnd {
    bool forced;              ///< by a signal, or with the lease: all of its work has to end
    guard::Deadline started;  ///< when it was started
    guard::Deadline kill_at;  ///< when what heeds no TERM gets KILL
};

/// What was left to do behind a client.
struct Settlement {
    bool had_work;             ///< its work went on without it
    std::string failure = {};  ///< why it may still do so; empty where it surely does not
};

/// After the client's end: has the work ended, and returns when it has, or fails at `until`.
/// `id` is what `id_in` gave.
[[nodiscard]] Settlement settle(const Target& target, const std::string& id,
                                const ClientEnd& client, guard::Deadline until);

}  // namespace container
