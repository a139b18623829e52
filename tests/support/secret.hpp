#pragma once

#include <string>
#include <string_view>

namespace support {

/// Is in every password that a test uses, so that one of them is known wherever it shows.
inline constexpr std::string_view secret_mark = "hunter2";

/// Whether a password shows in `text`, plain or percent-encoded.
[[nodiscard]] bool shows_secret(std::string_view text);

/// Ends the test program if a password shows in `text`; `where` is what that is.
void check_no_secret(std::string_view text, const std::string& where);

}  // namespace support
