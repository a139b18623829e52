#pragma once

namespace run {

/// A wait status as the shell shows it: the exit status, or 128 plus the signal's number.
[[nodiscard]] int status_of_wait(int wait_status) noexcept;

/// The status for errno of a failed exec: 127 where there is no such program, 126 where it cannot
/// be run, as env(1) and timeout(1) do.
[[nodiscard]] int status_of_exec(int error) noexcept;

}  // namespace run
