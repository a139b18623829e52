#include "run/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace run {

std::optional<Terminal> Terminal::controlling() noexcept {
    Terminal terminal;
    terminal.tty_ = guard::Descriptor{open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    if (!terminal.tty_) return std::nullopt;
    terminal.foreground_ = tcgetpgrp(terminal.tty_.get());
    tcgetattr(terminal.tty_.get(), &terminal.modes_);
    return terminal;
}

void lend_terminal(pid_t command) noexcept {
    const pid_t group = getpgid(command);
    if (command <= 0 || group <= 0 || group == getpgrp()) return;
    const guard::Descriptor tty{open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    if (tty && tcgetpgrp(tty.get()) == getpgrp()) tcsetpgrp(tty.get(), group);
}

void Terminal::restore() const noexcept {
    if (foreground_ != getpgrp()) return;
    // Somebody else's by now, say the shell's after `bg`, unless its group died with the command.
    const pid_t now = tcgetpgrp(tty_.get());
    const bool orphaned = now > 0 && now != foreground_ && kill(-now, 0) != 0 && errno == ESRCH;
    if (now != foreground_ && !orphaned) return;
    // From a background group these calls would stop us, unless TTOU is blocked: tcsetpgrp(3).
    sigset_t ttou;
    sigset_t before;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    sigprocmask(SIG_BLOCK, &ttou, &before);
    if (orphaned) tcsetpgrp(tty_.get(), foreground_);
    tcsetattr(tty_.get(), TCSANOW, &modes_);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace run
