#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

using Words = std::vector<std::string>;

/// Path of a program in PATH; empty where there is none.
[[nodiscard]] std::string found_in_path(const std::string& name);

/// Starts `argv` by posix_spawn(3), which does not copy this process's memory, so that its size
/// does not count. Throws where it cannot be run.
pid_t spawn(const Words& argv);

/// Throws unless the process ends with status 0.
void wait_for_success(pid_t pid, const Words& argv);

/// Takes the user's own variables for sandbox-lock out of the environment.
void clean_environment();

/// `AMD EPYC, 2 cores, Linux 6.1, load 0.1`
[[nodiscard]] std::string machine();

}  // namespace bench
