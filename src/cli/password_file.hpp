#pragma once

#include <optional>
#include <string>

#include "guard/result.hpp"

namespace cli {

/// A password from outside the URL: the first line of `path`, which `option` gave, else that of the
/// environment's `variable`, else none. A file that others may read is refused.
[[nodiscard]] guard::Result<std::optional<std::string>> find_password(const char* option,
                                                                      const std::string& path,
                                                                      const char* variable);

}  // namespace cli
