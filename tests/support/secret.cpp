#include "support/secret.hpp"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace support {
namespace {

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

bool holds_in_any_case(std::string_view text, std::string_view part) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return !std::ranges::search(text, part, {}, lower, lower).empty();
}

}  // namespace

bool shows_secret(std::string_view text) {
    static const std::string encoded = percent_encoded(secret_mark);
    return text.find(secret_mark) != text.npos || holds_in_any_case(text, encoded);
}

void check_no_secret(std::string_view text, const std::string& where) {
    if (!shows_secret(text)) return;
    // Not by a failed check: it must be told from a destructor, too, and from any thread.
    std::cerr << "a password shows in " << where << '\n';
    std::abort();
}

}  // namespace support
