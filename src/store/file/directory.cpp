#include "store/file/directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "store/file/file_system.hpp"

namespace store::file {
namespace {

using guard::Descriptor;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;
using Status = struct stat;

constexpr mode_t for_all = 01777;
constexpr mode_t for_one = 0700;
constexpr int most_links = 8;

Error unfit(const std::string& path, const std::string& why) {
    return {Fault::configuration, "lock directory '" + path + "' " + why};
}

Error failed(const char* what, const std::string& path) {
    const Fault fault = errno == EACCES || errno == EPERM ? Fault::denied : Fault::unreachable;
    return {fault,
            "cannot " + std::string(what) + " lock directory '" + path + "': " + strerror(errno)};
}

bool is_mine_or_roots(const Status& status) noexcept {
    return status.st_uid == 0 || status.st_uid == geteuid();
}

std::string target_of(const Descriptor& link) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlinkat(link.get(), "", target.data(), target.size());
    return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// The path that is meant by a link to `target` at `path`.
std::string followed(const std::string& path, const std::string& target) {
    if (target.starts_with('/')) return target;
    return path.substr(0, path.rfind('/') + 1) + target;
}

/// Opens a directory; of symbolic links in its place only root's and our own are followed. A link
/// is looked at by a descriptor, so that nobody can change it between the look and the step.
Result<Descriptor> open_directory(const std::string& path, int links_left) {
    Descriptor found{::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (!found) return failed("open", path);
    Status status{};
    if (fstat(found.get(), &status) != 0) return failed("look at", path);
    if (S_ISLNK(status.st_mode)) {
        if (links_left == 0 || !is_mine_or_roots(status))
            return unfit(path, "is a symbolic link, which is not followed: remove it");
        return open_directory(followed(path, target_of(found)), links_left - 1);
    }
    if (!S_ISDIR(status.st_mode)) return unfit(path, "is no directory");
    Descriptor readable{openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!readable) return failed("read", path);
    return readable;
}

std::string path_without_slashes(std::string path) {
    // "DIR/" would follow a link of the name DIR.
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

std::string mode_text(mode_t mode) {
    std::array<char, 8> text{};
    (void)snprintf(text.data(), text.size(), "%04o", mode & 07777);
    return text.data();
}

/// What holds for every directory, also for one that the user named and answers for.
Result<Done> check_any(const std::string& path, const Status& status) {
    if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
        return unfit(path, "has mode " + mode_text(status.st_mode) +
                               ": everybody may remove the locks in it: chmod +t it");
    return Done{};
}

/// The directory of all users. Root takes it over from an ordinary user who came first, because a
/// directory's owner can remove whatever is in it.
Result<Done> check_shared(const std::string& path, const Descriptor& fd, const Status& status) {
    if ((status.st_mode & 07777) != for_all)
        return unfit(path, "has mode " + mode_text(status.st_mode) + " instead of " +
                               mode_text(for_all) + ": have root remove it");
    if (is_mine_or_roots(status)) return Done{};
    if (geteuid() == 0 && fchown(fd.get(), 0, 0) == 0) return Done{};
    return unfit(path, "belongs to user " + std::to_string(status.st_uid) +
                           ", who could remove the locks in it: have root chown it to root");
}

/// The directory of one user.
Result<Done> check_private(const std::string& path, const Status& status) {
    if (status.st_uid != geteuid())
        return unfit(path, "belongs to user " + std::to_string(status.st_uid) +
                               ": have it removed, or name another one by --store file:DIR");
    if ((status.st_mode & 077) != 0)
        return unfit(path, "has mode " + mode_text(status.st_mode) + " instead of " +
                               mode_text(for_one) + ": chmod it");
    return Done{};
}

struct Default {
    std::string path;
    bool shared;
};

Default default_directory() {
    Status status{};
    if (stat("/run/lock", &status) == 0 && S_ISDIR(status.st_mode) &&
        (status.st_mode & S_IWOTH) != 0)
        return {"/run/lock/sandbox-lock", true};
    // Under su and sudo it may be another user's.
    if (const char* own = getenv("XDG_RUNTIME_DIR");
        own != nullptr && *own == '/' && stat(own, &status) == 0 && status.st_uid == geteuid())
        return {std::string(own) + "/sandbox-lock", false};
    return {"/tmp/sandbox-lock-" + std::to_string(geteuid()), false};
}

Result<Done> make(const std::string& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return Done{};
    return failed("make", path);
}

}  // namespace

NoUmask::NoUmask() noexcept : old_(umask(0)) {}
NoUmask::~NoUmask() {
    umask(old_);
}

Result<Directory> Directory::open(const std::string& named) {
    std::optional<Default> standard;
    if (named.empty()) standard = default_directory();
    const auto path = path_without_slashes(standard ? standard->path : named);

    auto fd = open_directory(path, standard ? 0 : most_links);
    if (!fd && errno == ENOENT) {
        std::optional<NoUmask> exactly;
        if (standard) exactly.emplace();
        const mode_t mode = !standard ? 0777 : standard->shared ? for_all : for_one;
        if (auto made = make(path, mode); !made) return made.error();
        fd = open_directory(path, standard ? 0 : most_links);
    }
    if (!fd) return fd.error();

    Status status{};
    if (fstat(fd->get(), &status) != 0) return failed("look at", path);
    const auto fit = !standard          ? check_any(path, status)
                     : standard->shared ? check_shared(path, *fd, status)
                                        : check_private(path, status);
    if (!fit) return fit.error();
    if (const auto sound = check_file_system(fd->get(), path); !sound) return sound.error();
    return Directory{std::move(*fd), path, 0600 | (status.st_mode & 0066)};
}

}  // namespace store::file
