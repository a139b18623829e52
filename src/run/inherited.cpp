#include "run/inherited.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "guard/descriptor.hpp"

namespace run {
namespace {

bool is_ours(int fd) noexcept {
    const int flags = fcntl(fd, F_GETFD);
    return flags < 0 || (flags & FD_CLOEXEC) != 0;
}

/// Calls `visit` for each open descriptor above standard error. False where /proc cannot be read.
template <class Visit>
bool for_each_open(Visit visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open_now(opendir("/proc/self/fd"), closedir);
    if (!open_now) return false;
    while (const dirent* entry = readdir(open_now.get())) {
        const int fd = std::atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(open_now.get())) visit(fd);
    }
    return true;
}

}  // namespace

void close_inherited() noexcept {
    if (const guard::Descriptor null{open("/dev/null", O_RDWR | O_CLOEXEC)}; null) {
        for (const int standard : {STDIN_FILENO, STDOUT_FILENO})
            if (!is_ours(standard)) dup2(null.get(), standard);
    }
    (void)for_each_open([](int fd) {
        if (!is_ours(fd)) close(fd);
    });
}

bool close_own(int kept) noexcept {
    return for_each_open([kept](int fd) {
        if (fd != kept && is_ours(fd)) close(fd);
    });
}

}  // namespace run
