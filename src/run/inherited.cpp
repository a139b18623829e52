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

}  // namespace

void close_inherited() noexcept {
    if (const guard::Descriptor null{open("/dev/null", O_RDWR | O_CLOEXEC)}; null) {
        for (const int standard : {STDIN_FILENO, STDOUT_FILENO})
            if (!is_ours(standard)) dup2(null.get(), standard);
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> open_now(opendir("/proc/self/fd"), closedir);
    if (!open_now) return;
    while (const dirent* entry = readdir(open_now.get())) {
        const int fd = std::atoi(entry->d_name);
        if (fd > STDERR_FILENO && !is_ours(fd)) close(fd);
    }
}

}  // namespace run
