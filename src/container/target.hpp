#pragma once

#include <string>
#include <vector>

namespace container {

/// What a client of a container engine starts in a container, and how to find it there when the
/// client is gone: the client is not the work.
struct Target {
    bool is_exec = false;              ///< `docker exec`; else `docker run`
    bool removes = false;              ///< `--rm`
    std::vector<std::string> client;   ///< the program and its own options, for calls like its own
    std::vector<std::string> as_user;  ///< exec: options for a process that may signal it
    std::string name;                  ///< the container's
    std::string mark;                  ///< value of the variable or label below
};

/// The variable that an exec's processes have in their environment, inherited from the first on.
inline constexpr const char* mark_variable = "SANDBOX_LOCK_EXEC";
/// The label of the container of a `docker run`.
inline constexpr const char* mark_label = "sandbox-lock";

}  // namespace container
