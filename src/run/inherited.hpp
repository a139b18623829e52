#pragma once

namespace run {

/// Once the command runs, lets go of what it inherited from our caller: a pipe must end when the
/// command closes it, not when we do. Standard input and output become /dev/null; standard error
/// stays for messages. What is close-on-exec is our own, since nothing of that kind outlives an
/// exec.
void close_inherited() noexcept;

/// The other way round, in a new warden: closes what is our own, but `kept`. A connection to the
/// store must not outlive the keeper in a copy.
/// False where /proc cannot be read.
[[nodiscard]] bool close_own(int kept) noexcept;

}  // namespace run
