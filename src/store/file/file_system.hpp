#pragma once

#include <string>
#include <string_view>

#include "guard/result.hpp"

namespace store::file {

/// The name of the network file system that statfs(2) calls `magic`; empty for a local one.
[[nodiscard]] std::string_view network_file_system(unsigned long magic) noexcept;

/// Refuses the file systems of networks, where a lock of flock(2) is seen by one host only or can
/// be lost unnoticed when the server is out of reach (flock(2), "NFS details" and "CIFS details").
/// `path` is for the message.
[[nodiscard]] guard::Result<guard::Done> check_file_system(int fd, const std::string& path);

/// The type's name by the mount that the descriptor is on: proc(5), /proc/PID/mountinfo.
[[nodiscard]] std::string file_system_type(int fd);

/// The error for a flock(2) that failed with `number`: names the directory and the type of its file
/// system.
[[nodiscard]] guard::Error flock_failed(int fd, const std::string& path, int number);

}  // namespace store::file
