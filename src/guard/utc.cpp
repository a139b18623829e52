#include "guard/utc.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

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

std::optional<Duration> since(const std::string& utc) {
    using namespace std::chrono;
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int end = 0;
    if (std::sscanf(utc.c_str(), "%4d-%2u-%2uT%2d:%2d:%2dZ%n", &year, &month, &day, &hour, &minute,
                    &second, &end) != 6 ||
        static_cast<std::size_t>(end) != utc.size())
        return std::nullopt;
    const year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                              std::chrono::day{day}};
    if (!date.ok()) return std::nullopt;
    const auto then = sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
    const auto span = floor<seconds>(system_clock::now()) - then;
    return span < 0s ? std::nullopt : std::optional<Duration>(span);
}

}  // namespace guard
