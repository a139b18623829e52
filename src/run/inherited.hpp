#pragma once

namespace run {

/// Once the command runs, lets go of what it inherited from our caller: a pipe must end when the
/// command closes it, not when we do. Standard input and output become /dev/null; standard error
/// stays for messages. What is close-on-exec is our own, since nothing of that kind outlives an exec.
void close_inherited() noexcept;

}  // namespace run
