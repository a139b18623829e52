#include "store/file/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>

#include "store/file/file_system.hpp"

namespace store::file {
namespace {

using guard::Descriptor;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;
using Status = struct stat;

constexpr std::string_view hex_digits = "0123456789ABCDEF";
/// A card is a few hundred bytes; a label may be long, and then the card is not shown.
constexpr std::size_t longest_record = 64 * 1024;

bool is_plain(char c) noexcept {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/// FNV-1a, 64 bits: two keys that share it by chance or by intent wait for each other, no more.
std::string hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    std::string hex;
    for (int shift = 60; shift >= 0; shift -= 4) hex += hex_digits[(hash >> shift) & 15];
    return hex;
}

Error failed(const char* what, const std::string& path, int number) {
    const bool right = number == EACCES || number == EPERM || number == EROFS;
    return {right ? Fault::denied : Fault::unreachable,
            "cannot " + std::string(what) + " lock file '" + path + "': " + std::strerror(number)};
}

/// Without O_CREAT first: in a sticky directory the kernel refuses that for a file of another user
/// (proc(5), /proc/sys/fs/protected_regular), also to root.
Descriptor open_or_make(const Directory& directory, const std::string& name) {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    for (int tries = 0; tries < 100; ++tries) {
        if (Descriptor found{openat(directory.fd(), name.c_str(), flags)}; found || errno != ENOENT)
            return found;
        const NoUmask exactly;
        if (Descriptor made{openat(directory.fd(), name.c_str(), flags | O_CREAT | O_EXCL,
                                   directory.file_mode())};
            made || errno != EEXIST)
            return made;
    }
    return {};
}

}  // namespace

std::string file_name(std::string_view key) {
    std::string name;
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(c))
            name += c;
        else
            (((name += '%') += hex_digits[byte >> 4]) += hex_digits[byte & 15]);
    }
    if (name.size() <= NAME_MAX) return name;
    const std::string end = '~' + hash_of(key);  // no other name has a '~'
    return name.substr(0, NAME_MAX - end.size()) + end;
}

std::string key_of_file(std::string_view name) {
    const auto value = [](char c) { return static_cast<int>(hex_digits.find(c)); };
    std::string key;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '~') return key + '~';
        if (name[i] != '%' || i + 2 >= name.size()) {
            key += name[i];
            continue;
        }
        key += static_cast<char>(value(name[i + 1]) * 16 + value(name[i + 2]));
        i += 2;
    }
    return key;
}

Result<LockFile> LockFile::open(const Directory& directory, const std::string& name) {
    std::string path = directory.path() + "/" + name;
    auto fd = open_or_make(directory, name);
    if (!fd && errno == ELOOP)
        return Error{
            Fault::configuration,
            "lock file '" + path + "' is a symbolic link, which is not followed: remove it"};
    if (!fd) return failed("open", path, errno);
    Status status{};
    if (fstat(fd.get(), &status) != 0) return failed("look at", path, errno);
    if (!S_ISREG(status.st_mode))
        return Error{Fault::configuration, "lock file '" + path + "' is no plain file: remove it"};
    if (status.st_nlink > 1)
        return Error{Fault::configuration,
                     "lock file '" + path + "' has a second name, a hard link: remove it"};
    return LockFile{std::move(fd), std::move(path), directory.path()};
}

Result<bool> LockFile::try_lock() noexcept {
    while (flock(fd(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) return lock_failed(errno);
    }
    return true;
}

Error LockFile::lock_failed(int number) const {
    return flock_failed(fd(), directory_, number);
}

void LockFile::unlock() noexcept {
    (void)flock(fd(), LOCK_UN);
}

bool LockFile::has_its_name() const noexcept {
    Status ours{};
    Status named{};
    return fstat(fd(), &ours) == 0 && lstat(path_.c_str(), &named) == 0 &&
           ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

Record LockFile::read() const {
    std::string text(4096, '\0');
    std::size_t size = 0;
    for (ssize_t got = 0; (got = pread(fd(), text.data() + size, text.size() - size,
                                       static_cast<off_t>(size))) > 0;) {
        size += static_cast<std::size_t>(got);
        if (size < text.size()) break;
        if (size >= longest_record) break;
        text.resize(2 * size);
    }
    text.resize(size);
    Record record;
    std::from_chars(text.data(), text.data() + text.size(), record.fence);  // else it stays 0
    const auto first = text.find('\n');
    const auto second = first == text.npos ? text.npos : text.find('\n', first + 1);
    if (second != text.npos) record.token = text.substr(first + 1, second - first - 1);
    return record;
}

Result<Done> LockFile::write(const Record& record) const {
    const std::string text = std::to_string(record.fence) + "\n" + record.token + "\n";
    // In one piece. What an earlier, longer record leaves behind the second line does not count.
    const ssize_t written = pwrite(fd(), text.data(), text.size(), 0);
    if (written < 0) return failed("write", path_, errno);
    if (static_cast<std::size_t>(written) != text.size()) return failed("write", path_, ENOSPC);
    Status status{};
    if (fstat(fd(), &status) == 0 && status.st_size > written) (void)!ftruncate(fd(), written);
    return Done{};
}

}  // namespace store::file
