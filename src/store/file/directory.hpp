#pragma once

#include <sys/types.h>

#include <string>

#include "guard/descriptor.hpp"
#include "guard/result.hpp"

namespace store::file {

/// A directory of lock files, checked to be fit for that.
class Directory {
public:
    /// Opens `path`, or, if that is empty, the default directory; makes it if it is missing, but
    /// not its parents. Errors, which name the directory: it belongs to another user or is open to
    /// changes by everybody, another user planted a symbolic link in its place (both
    /// configuration), or its file system is none that flock(2) is to be trusted on.
    ///
    /// The default is /run/lock/sandbox-lock where everybody may write to /run/lock (mode 1777, for
    /// all users of the machine), else $XDG_RUNTIME_DIR/sandbox-lock, else /tmp/sandbox-lock-UID
    /// (mode 0700, for one user).
    static guard::Result<Directory> open(const std::string& path);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// The mode of files in it: whoever may make locks there may also take them.
    [[nodiscard]] mode_t file_mode() const noexcept { return file_mode_; }

private:
    Directory(guard::Descriptor fd, std::string path, mode_t file_mode)
        : fd_(std::move(fd)), path_(std::move(path)), file_mode_(file_mode) {}

    guard::Descriptor fd_;
    std::string path_;
    mode_t file_mode_;
};

/// Makes files and directories get just the mode that is asked for, while the object lives:
/// umask(2) is the process's, so no other thread may make files meanwhile.
class NoUmask {
public:
    NoUmask() noexcept;
    ~NoUmask();
    NoUmask(const NoUmask&) = delete;
    NoUmask& operator=(const NoUmask&) = delete;

private:
    mode_t old_;
};

}  // namespace store::file
