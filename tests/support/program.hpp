#pragma once

#include <string>
#include <vector>

#include "support/process.hpp"

namespace support {

/// Path of the built sandbox-lock.
[[nodiscard]] std::string program_path();

/// The directory of the project's files.
[[nodiscard]] std::string source_root();

/// Settings of the tester's own must not leak into tests: an environment for the program with none
/// of its variables but the given store, and no configuration file.
[[nodiscard]] std::vector<std::string> clean_environment(const std::string& store_url);

/// Starts `sandbox-lock ARGUMENTS...` with that store.
[[nodiscard]] Process sandbox_lock(const std::string& store_url,
                                   const std::vector<std::string>& arguments, Launch launch = {});

/// The store key of `agent:VALUE` and the like under the default prefix.
[[nodiscard]] std::string key_of(const std::string& isolation_key);
[[nodiscard]] std::string fence_of(const std::string& isolation_key);

}  // namespace support
