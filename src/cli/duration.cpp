#include "cli/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace cli {
namespace {

using guard::Duration;

struct Unit {
    std::string_view name;
    Duration length;
};
/// From the largest down: the order in which they may follow each other.
constexpr std::array units{Unit{"h", std::chrono::hours{1}}, Unit{"m", std::chrono::minutes{1}},
                           Unit{"s", std::chrono::seconds{1}},
                           Unit{"ms", std::chrono::milliseconds{1}}};

constexpr Duration longest = std::chrono::days{36525};

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) noexcept {
    const auto length =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
    const auto digits = text.substr(0, length);
    text.remove_prefix(length);
    return digits;
}

/// A plain decimal number and what follows it up to the next one.
struct Part {
    std::string_view whole;
    std::string_view fraction;
    std::string_view unit;
};

std::optional<Part> take_part(std::string_view& text) noexcept {
    Part part{};
    part.whole = take_digits(text);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        part.fraction = take_digits(text);
    }
    if (part.whole.empty() && part.fraction.empty()) return std::nullopt;
    const auto is_part_of_number = [](char c) { return is_digit(c) || c == '.'; };
    part.unit = text.substr(
        0, static_cast<std::size_t>(std::ranges::find_if(text, is_part_of_number) - text.begin()));
    text.remove_prefix(part.unit.size());
    return part;
}

/// None where it is longer than the longest. In whole numbers: what is typed is what is waited.
std::optional<Duration> length_of(const Part& part, Duration unit) noexcept {
    std::int64_t count = 0;
    const char* end = part.whole.data() + part.whole.size();
    if (!part.whole.empty() && std::from_chars(part.whole.data(), end, count).ec != std::errc{})
        return std::nullopt;
    if (count > longest / unit) return std::nullopt;
    Duration length = count * unit;
    for (const char digit : part.fraction) {
        unit /= 10;
        length += (digit - '0') * unit;
    }
    return length;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) noexcept {
    Duration sum{};
    auto next_unit = units.begin();  // each unit once, in falling order
    for (bool first = true; first || !text.empty(); first = false) {
        const auto part = take_part(text);
        if (!part) return std::nullopt;
        const bool plain_seconds = part->unit.empty() && first && text.empty();
        const auto unit =
            plain_seconds ? &units[2] : std::find_if(next_unit, units.end(), [&](const Unit& u) {
                return u.name == part->unit;
            });
        if (unit == units.end()) return std::nullopt;
        next_unit = unit + 1;
        const auto length = length_of(*part, unit->length);
        if (!length || *length > longest - sum) return std::nullopt;
        sum += *length;
    }
    return sum;
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
