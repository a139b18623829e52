#include "cli/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace cli {
namespace {

struct Unit {
    std::string_view name;
    double seconds;
};
/// From the largest down: the order in which they may follow each other.
constexpr std::array units{Unit{"h", 3600}, Unit{"m", 60}, Unit{"s", 1}, Unit{"ms", 0.001}};

/// A hundred years: 64 bits of nanoseconds hold almost three times that.
constexpr double longest = 100 * 365.25 * 86400;

constexpr bool is_number_character(char c) noexcept {
    return (c >= '0' && c <= '9') || c == '.';
}

/// Takes a plain decimal number off the front: no sign, no exponent, no "inf".
std::optional<double> take_number(std::string_view& text) noexcept {
    const auto length = static_cast<std::size_t>(
        std::ranges::find_if_not(text, is_number_character) - text.begin());
    double value = 0;
    const char* end = text.data() + length;
    const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (length == 0 || error != std::errc{} || stop != end) return std::nullopt;
    text.remove_prefix(length);
    return value;
}

}  // namespace

std::optional<guard::Duration> parse_duration(std::string_view text) noexcept {
    double seconds = 0;
    std::size_t next_unit = 0;  // each unit once, in falling order
    bool first = true;
    do {
        const auto value = take_number(text);
        if (!value) return std::nullopt;
        const auto name = text.substr(
            0, static_cast<std::size_t>(std::ranges::find_if(text, is_number_character) - text.begin()));
        text.remove_prefix(name.size());
        if (name.empty()) {
            if (!first) return std::nullopt;
            seconds = *value;
            break;
        }
        const auto unit = std::find_if(units.begin() + next_unit, units.end(),
                                       [&](const Unit& u) { return u.name == name; });
        if (unit == units.end()) return std::nullopt;
        next_unit = static_cast<std::size_t>(unit - units.begin()) + 1;
        seconds += *value * unit->seconds;
        first = false;
    } while (!text.empty());
    if (seconds > longest) return std::nullopt;
    return std::chrono::round<guard::Duration>(std::chrono::duration<double>(seconds));
}

std::string duration_text(guard::Duration span) {
    using namespace std::chrono;
    if (span < 1s) return fmt::format("{}ms", duration_cast<milliseconds>(span).count());
    if (span < 1min) {
        const auto tenths = duration_cast<milliseconds>(span).count() / 100;
        return tenths % 10 == 0 ? fmt::format("{}s", tenths / 10)
                                : fmt::format("{}.{}s", tenths / 10, tenths % 10);
    }
    const auto h = duration_cast<hours>(span);
    const auto m = duration_cast<minutes>(span - h);
    const auto s = duration_cast<seconds>(span - h - m);
    std::string text;
    if (h.count() != 0) text += fmt::format("{}h", h.count());
    if (m.count() != 0) text += fmt::format("{}m", m.count());
    if (s.count() != 0 && h.count() == 0) text += fmt::format("{}s", s.count());
    return text;
}

}  // namespace cli
