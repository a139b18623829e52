#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace support {

/// What a terminal of that width shows after `bytes`, row by row without the blanks at the end. It
/// knows \r, \n, ESC[K and ESC[J; anything else of ESC is shown as it is. A byte is a column.
[[nodiscard]] std::vector<std::string> rows_of(const std::string& bytes, std::size_t columns);

}  // namespace support
