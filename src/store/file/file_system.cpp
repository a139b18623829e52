#include "store/file/file_system.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

namespace store::file {
namespace {

using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;

struct Kind {
    unsigned long magic;  ///< statfs(2)
    std::string_view name;
};
// linux/magic.h lacks some of them.
constexpr std::array of_networks{
    Kind{NFS_SUPER_MAGIC, "nfs"}, Kind{SMB_SUPER_MAGIC, "smb"},   Kind{0xff534d42, "cifs"},
    Kind{0xfe534d42, "smb3"},     Kind{V9FS_MAGIC, "9p"},         Kind{AFS_SUPER_MAGIC, "afs"},
    Kind{AFS_FS_MAGIC, "afs"},    Kind{CODA_SUPER_MAGIC, "coda"}, Kind{0x00c36400, "ceph"},
    Kind{0x0bd00bd0, "lustre"},
};

}  // namespace

std::string file_system_type(int fd) {
    struct stat status {};
    fstat(fd, &status);
    const std::string device =
        std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
    std::ifstream mounts{"/proc/self/mountinfo"};
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words{line};
        std::string id, parent, its_device, type;
        words >> id >> parent >> its_device;
        const auto optional_end = line.find(" - ");
        if (its_device != device || optional_end == line.npos) continue;
        std::istringstream{line.substr(optional_end + 3)} >> type;
        return type;
    }
    return "unknown";
}

std::string_view network_file_system(unsigned long magic) noexcept {
    const auto found = std::ranges::find(of_networks, magic, &Kind::magic);
    return found == of_networks.end() ? std::string_view{} : found->name;
}

Result<Done> check_file_system(int fd, const std::string& path) {
    struct statfs status {};
    if (fstatfs(fd, &status) != 0) return Done{};
    const auto network =
        network_file_system(static_cast<unsigned long>(status.f_type) & 0xffffffff);
    if (network.empty()) return Done{};
    return Error{Fault::configuration,
                 "lock directory '" + path + "' is on a file system of type " +
                     std::string(network) +
                     ", where a lock may hold on one host only or be lost unnoticed: use a local "
                     "directory or a redis:// store"};
}

Error flock_failed(int fd, const std::string& path, int number) {
    return {Fault::unreachable, "flock(2) fails in lock directory '" + path +
                                    "', on a file system of type " + file_system_type(fd) + ": " +
                                    std::strerror(number) + ": use another directory"};
}

}  // namespace store::file
