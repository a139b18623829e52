#include "store/file/lock_table.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace store::file {

LockTable LockTable::read() {
    std::ifstream locks{"/proc/locks"};
    return read(locks);
}

LockTable LockTable::read(std::istream& locks) {
    LockTable table;
    for (std::string line; std::getline(locks, line);) {
        int pid = 0;
        unsigned device_major = 0;
        unsigned device_minor = 0;
        std::uintmax_t inode = 0;
        // `3: FLOCK  ADVISORY  WRITE 13490 fe:00:763299 0 EOF`, and `3: -> FLOCK ...` for a waiter.
        const auto arrow = line.find("-> ");
        const auto start = line.find("FLOCK");
        if (start == line.npos ||
            std::sscanf(line.c_str() + start, "FLOCK %*s %*s %d %x:%x:%" SCNuMAX, &pid,
                        &device_major, &device_minor, &inode) != 4)
            continue;
        table.entries_.push_back(
            {makedev(device_major, device_minor), inode, pid, arrow != line.npos});
    }
    return table;
}

Lockers LockTable::find(int fd) const noexcept {
    Lockers found;
    struct stat status {};
    if (fstat(fd, &status) != 0) return found;
    for (const Entry& entry : entries_) {
        if (entry.inode != status.st_ino || entry.device != status.st_dev) continue;
        if (entry.waits)
            ++found.waiters;
        else
            found.holder = entry.pid;
    }
    return found;
}

}  // namespace store::file
