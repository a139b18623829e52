#include "cli/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace cli {
namespace {

struct Character {
    std::size_t bytes;
    char32_t code;
};
constexpr char32_t invalid = 0xffffffff;

/// The first character of `text`, which is not empty; a byte that begins none is `invalid`.
Character first_of(std::string_view text) noexcept {
    const auto byte = [&](std::size_t at) -> unsigned {
        return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    };
    constexpr Character none{1, invalid};
    const unsigned lead = byte(0);
    if (lead < 0x80) return {1, lead};
    if (lead < 0xc2 || lead > 0xf4) return none;
    const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t code = lead & (0x7fU >> bytes);
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((byte(at) & 0xc0) != 0x80) return none;
        code = code << 6 | (byte(at) & 0x3f);
    }
    constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[bytes] || surrogate || code > 0x10ffff ? none : Character{bytes, code};
}

struct Range {
    char32_t first;
    char32_t last;
};

bool in(std::span<const Range> ranges, char32_t code) noexcept {
    return std::ranges::any_of(
        ranges, [&](const Range& range) { return code >= range.first && code <= range.last; });
}

/// C0, DEL and C1, which some terminals obey in UTF-8 too; line separators; directions.
constexpr std::array controls{Range{0x00, 0x1f},     Range{0x7f, 0x9f},
                              Range{0x200e, 0x200f}, Range{0x2028, 0x202e},
                              Range{0x2066, 0x2069}, Range{invalid, invalid}};

/// Marks that stand over or under the letter before, in the scripts of most names.
constexpr std::array combining{Range{0x0300, 0x036f},  Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},
                               Range{0x064b, 0x065f},  Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},
                               Range{0x200b, 0x200d},  Range{0x20d0, 0x20f0}, Range{0x302a, 0x302d},
                               Range{0x3099, 0x309a},  Range{0xfe00, 0xfe0e}, Range{0xfe20, 0xfe2f},
                               Range{0xe0100, 0xe01ef}};

/// East Asian scripts and emoji, with the narrow symbols between those.
constexpr std::array wide{Range{0x1100, 0x115f},   Range{0x231a, 0x23ff},   Range{0x25fd, 0x27bf},
                          Range{0x2b00, 0x2bff},   Range{0x2e80, 0xa4cf},   Range{0xa960, 0xa97f},
                          Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe10, 0xfe1f},
                          Range{0xfe30, 0xfe6f},   Range{0xff01, 0xff60},   Range{0xffe0, 0xffe6},
                          Range{0x16fe0, 0x18dff}, Range{0x1aff0, 0x1b2ff}, Range{0x1f000, 0x1faff},
                          Range{0x20000, 0x3fffd}};

std::size_t columns_of(char32_t code) noexcept {
    if (code < 0x300) return 1;
    return in(combining, code) ? 0 : in(wide, code) ? 2 : 1;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const auto [bytes, code] = first_of(text);
        const auto character = text.substr(0, bytes);
        text.remove_prefix(bytes);
        if (!in(controls, code))
            shown += character;
        else
            for (const char byte : character)
                shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    return shown;
}

std::size_t columns_of(std::string_view text) noexcept {
    std::size_t columns = 0;
    while (!text.empty()) {
        const auto [bytes, code] = first_of(text);
        text.remove_prefix(bytes);
        columns += columns_of(code);
    }
    return columns;
}

std::string shorten(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) return std::string(text);
    const std::size_t dots = std::min<std::size_t>(columns, 3);
    std::size_t left = columns - dots;
    std::size_t length = 0;
    for (;;) {  // ends: not all of it fits
        const auto [bytes, code] = first_of(text.substr(length));
        const auto needed = columns_of(code);
        if (needed > left) break;
        left -= needed;
        length += bytes;
    }
    return std::string(text.substr(0, length)) + std::string(dots, '.');
}

}  // namespace cli
