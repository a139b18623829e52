#pragma once

#include <optional>

#include "cli/parse.hpp"

namespace cli {

/// Reads the command line of `status`, `break` and `doctor`; none where argv[1] is none of them.
[[nodiscard]] std::optional<guard::Result<Parsed>> parse_inspection(int argc, char** argv);

}  // namespace cli
