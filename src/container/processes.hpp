#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace container {

/// A process as a table has it.
struct Process {
    pid_t pid;
    pid_t parent;
    bool marked;                     ///< the mark is in its environment
    unsigned long long started = 0;  ///< in ticks, where that is known
};

/// What `ps axeww -o pid,ppid,args` prints on the engine's side (`docker top`): with `e` the
/// environment follows the arguments. `mark` is NAME=VALUE.
[[nodiscard]] std::vector<Process> read_table(std::string_view text, std::string_view mark);

/// The marked ones and all their descendants, which may have cleared their environment.
[[nodiscard]] std::vector<Process> marked_tree(const std::vector<Process>& all);

/// Of a container's processes, whether the first one of an exec is among `tree`: like the
/// container's own first process it is a child of the engine, not of a process in the container.
[[nodiscard]] bool has_first(const std::vector<Process>& tree, const std::vector<Process>& all);

/// All processes of this machine that this user may look into: proc(5), /proc/PID/environ. Sees
/// into containers where the engine is on this machine and we are root.
[[nodiscard]] std::vector<Process> processes_here(std::string_view mark);

}  // namespace container
