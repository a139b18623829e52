#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/clock.hpp"

namespace run {

/// What the warden is to run, and how.
struct Order {
    std::vector<std::string> command;      ///< for execvp(3), at least one word
    std::vector<std::string> environment;  ///< NAME=VALUE, added to what was inherited
    std::string last_words;    ///< what to write to standard error should the keeper be killed
    guard::Deadline deadline;  ///< the lease's end; `never` where nothing is ended by it
    guard::Duration margin;    ///< how long before the deadline the last of the tree gets KILL
    guard::Duration grace;     ///< from TERM to KILL
    bool own_group;            ///< no controlling terminal: the command leads a process group
    bool wait_descendants;     ///< the run lasts until the last descendant has ended

    [[nodiscard]] std::string serialized() const;
    static Order deserialized(std::string_view bytes);
};

}  // namespace run
