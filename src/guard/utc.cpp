#include "guard/utc.hpp"

#include <fmt/format.h>

#include <charconv>

namespace guard {

/// By <chrono>: gmtime_r(3) reads the file of the local time zone first.
std::string utc_now() {
    using namespace std::chrono;
    const auto now = floor<seconds>(system_clock::now());
    const auto day = floor<days>(now);
    const year_month_day date{day};
    const hh_mm_ss time{now - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::optional<std::chrono::sys_seconds> read_utc(std::string_view text) noexcept {
    using namespace std::chrono;
    constexpr std::string_view form = "0000-00-00T00:00:00Z";
    if (text.size() != form.size()) return std::nullopt;
    for (std::size_t i = 0; i < form.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == '0' ? !digit : text[i] != form[i]) return std::nullopt;
    }
    const auto number = [&](std::size_t from, std::size_t length) {
        unsigned value = 0;
        std::from_chars(text.data() + from, text.data() + from + length, value);
        return value;
    };
    const year_month_day date{year{static_cast<int>(number(0, 4))}, month{number(5, 2)},
                              day{number(8, 2)}};
    const auto hour = number(11, 2);
    const auto minute = number(14, 2);
    const auto second = number(17, 2);
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
    return sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
}

std::optional<Duration> since(std::string_view utc) noexcept {
    using namespace std::chrono;
    const auto then = read_utc(utc);
    if (!then) return std::nullopt;
    const auto span = floor<seconds>(system_clock::now()) - *then;
    if (span < 0s || span > floor<seconds>(Duration::max())) return std::nullopt;
    return span;
}

}  // namespace guard
