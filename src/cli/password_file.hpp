#pragma once

#include <optional>
#include <string>

#include "guard/result.hpp"

namespace cli {

/// The store's password from outside its URL: the first line of `path`, else REDISCLI_AUTH, as
/// redis-cli(1) has it, else none. A file that others may read is refused.
[[nodiscard]] guard::Result<std::optional<std::string>> find_password(const std::string& path);

}  // namespace cli
