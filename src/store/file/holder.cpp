#include "store/file/holder.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>

#include "guard/owner_card.hpp"

namespace store::file {
namespace {

using guard::OwnerCard;

/// The process that took the file's lock by flock(2), as the kernel has it; 0 where it does not
/// say, as for a process of another PID namespace.
pid_t locker_of(const LockFile& file) {
    struct stat status {};
    if (fstat(file.fd(), &status) != 0) return 0;
    std::ifstream locks{"/proc/locks"};
    for (std::string line; std::getline(locks, line);) {
        int pid = 0;
        unsigned device_major = 0;
        unsigned device_minor = 0;
        std::uintmax_t inode = 0;
        // Whoever waits has an arrow before FLOCK and does not match.
        if (std::sscanf(line.c_str(), "%*d: FLOCK %*s %*s %d %x:%x:%" SCNuMAX, &pid, &device_major,
                        &device_minor, &inode) != 4)
            continue;
        if (inode == status.st_ino && makedev(device_major, device_minor) == status.st_dev)
            return pid;
    }
    return 0;
}

std::string name_of(pid_t pid) {
    std::string name;
    std::ifstream comm{"/proc/" + std::to_string(pid) + "/comm"};
    return std::getline(comm, name) ? name : "a process that has ended";
}

std::string user_of(pid_t pid) {
    struct stat status {};
    if (stat(("/proc/" + std::to_string(pid)).c_str(), &status) != 0) return "?";
    return status.st_uid == 0 ? "root" : "user " + std::to_string(status.st_uid);
}

}  // namespace

std::string holder_of(const LockFile& file) {
    const auto token = file.read().token;
    const auto card = guard::read_card(token);
    const pid_t pid = locker_of(file);
    const auto here = OwnerCard::of_this_process("");
    const bool is_elsewhere = pid == 0 || (card && card->host != here.host);
    if (card && (is_elsewhere || card->pid == pid)) return token;
    if (pid == 0) return guard::make_token({here.host, 0, "?", "", "another process"});
    return guard::make_token({here.host, pid, user_of(pid), "", name_of(pid)});
}

}  // namespace store::file
