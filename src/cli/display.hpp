#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

// Text as a terminal shows it. By code of our own: wcwidth(3) knows ASCII alone unless a locale is
// loaded, which a static program does not do.

/// `text` with control characters, and bytes that are no UTF-8, as \xNN. So are the characters that
/// change the direction of writing: with them a line looks other than it is.
[[nodiscard]] std::string printable(std::string_view text);

/// How many columns `text`, which is printable, takes at most. Too many rather than too few: a line
/// that is shorter than it might be does no harm, one that wraps does.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;

/// `text` in that many columns: what is too much becomes an ellipsis. No character is cut in two.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t columns);

}  // namespace cli
