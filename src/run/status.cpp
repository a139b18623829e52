#include "run/status.hpp"

#include <sys/wait.h>

#include <cerrno>

namespace run {

int status_of_wait(int wait_status) noexcept {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int status_of_exec(int error) noexcept {
    return error == ENOENT ? 127 : 126;
}

}  // namespace run
