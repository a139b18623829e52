#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/target.hpp"
#include "guard/clock.hpp"

namespace run {

/// What the warden is to run, and how.
struct Order {
    std::vector<std::string> command;      ///< for execvp(3); none: only clean up
    std::vector<std::string> environment;  ///< NAME=VALUE, added to what was inherited
    std::string last_words;    ///< what to write to standard error should the keeper be killed
    guard::Deadline deadline;  ///< the lease's end; `never` where nothing is ended by it
    guard::Duration margin;    ///< how long before the deadline the last of the tree gets KILL
    guard::Duration grace;     ///< from TERM to KILL
    bool own_group;            ///< no controlling terminal: the command leads a process group
    bool wait_descendants;     ///< the run lasts until the last descendant has ended

    // What comes between the end of the command tree and that of the run.
    std::optional<container::Target> container = {};  ///< what the command starts in a container
    std::vector<std::string> cleanups = {};           ///< shell commands
    guard::Duration cleanup_timeout = {};             ///< for each of these steps
    int status_if_lost = 0;  ///< the exit status of a run that lost its lease
    int wait_status = 0;     ///< without a command: that of the one that was

    [[nodiscard]] bool cleans_up() const noexcept { return container || !cleanups.empty(); }
    [[nodiscard]] std::string serialized() const;
    static Order deserialized(std::string_view bytes);
};

}  // namespace run
