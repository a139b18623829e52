#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "guard/descriptor.hpp"

namespace run {

/// The controlling terminal of this process, as it was when the object was made.
class Terminal {
public:
    /// None where there is no controlling terminal: tty(4).
    static std::optional<Terminal> controlling() noexcept;

    /// Puts modes and foreground group back, for when the command was ended before it could do so
    /// itself. Only if the terminal was ours to begin with.
    void restore() const noexcept;

private:
    guard::Descriptor tty_;
    termios modes_{};
    pid_t foreground_ = 0;
};

/// Before a command is continued that made a process group of its own, such as a shell after
/// `suspend`: if the terminal is our group's now, it becomes the command's, or that would be in the
/// background.
void lend_terminal(pid_t command) noexcept;

}  // namespace run
