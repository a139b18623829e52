#pragma once

#include <string>
#include <string_view>

#include "store/url.hpp"

namespace fuzz {

/// `text` with another password of the same form: every letter behind f becomes another one. What
/// marks parts of a URL, and percent escapes, stay as they are.
[[nodiscard]] inline std::string with_another_password(std::string_view text) {
    const auto secret = store::password_in(text);
    std::string other{text};
    if (secret.empty()) return other;
    const auto start = static_cast<std::size_t>(secret.data() - text.data());
    for (std::size_t i = start; i < start + secret.size(); ++i) {
        char& c = other[i];
        if ((c >= 'g' && c < 'z') || (c >= 'G' && c < 'Z'))
            ++c;
        else if (c == 'z' || c == 'Z')
            c = static_cast<char>(c - 'z' + 'g');
    }
    return other;
}

}  // namespace fuzz
