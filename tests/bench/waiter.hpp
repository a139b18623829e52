#pragma once

#include <sys/types.h>

#include <vector>

namespace bench {

/// Until each of the processes has done nothing for a tenth of a second: it waits.
void wait_for_rest(std::vector<pid_t> pids);

/// The memory of a process and its children in KiB, with its share of what it has in common with
/// others (PSS).
[[nodiscard]] double kib_of(pid_t pid);

}  // namespace bench
