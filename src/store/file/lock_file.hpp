#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "guard/descriptor.hpp"
#include "guard/result.hpp"
#include "store/file/directory.hpp"

namespace store::file {

/// A slot's file in the directory: its key with everything but `[A-Za-z0-9._-]` percent-encoded. Of
/// a name that would be too long the end is replaced by `~` and a hash of the key.
[[nodiscard]] std::string file_name(std::string_view key);

/// The key of a file's name; of a name that ends with a hash, what is left of it and '~'.
[[nodiscard]] std::string key_of_file(std::string_view name);

/// What stands in a lock file: two lines, the slot's fence and the token of whoever entered last,
/// who may have left: only the lock says whether somebody is in.
struct Record {
    std::uint64_t fence = 0;
    std::string token;
};

/// An open lock file. The lock of flock(2) belongs to the open file description: to this object and
/// to all copies of its descriptor, in whatever process.
class LockFile {
public:
    /// Opens the file, and makes it if it is missing. Refuses whatever is no plain file with one
    /// name, so that nothing is written elsewhere through a link that somebody planted.
    static guard::Result<LockFile> open(const Directory& directory, const std::string& name);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Takes the lock if it is free.
    guard::Result<bool> try_lock() noexcept;
    void unlock() noexcept;
    /// The error for a flock(2) on this file that failed with `number`.
    [[nodiscard]] guard::Error lock_failed(int number) const;

    /// Whether the path still leads to this file. If it was removed, a lock on it excludes nobody.
    [[nodiscard]] bool has_its_name() const noexcept;

    [[nodiscard]] Record read() const;
    guard::Result<guard::Done> write(const Record& record) const;

private:
    LockFile(guard::Descriptor fd, std::string path, std::string directory)
        : fd_(std::move(fd)), path_(std::move(path)), directory_(std::move(directory)) {}

    guard::Descriptor fd_;
    std::string path_;
    std::string directory_;
};

}  // namespace store::file
