#include "store/redis/info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace store::redis {

Info::Info(std::string_view answer) {
    while (!answer.empty()) {
        auto line = answer.substr(0, answer.find('\n'));
        answer.remove_prefix(std::min(line.size() + 1, answer.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const auto colon = line.find(':');
        if (colon != line.npos && !line.starts_with('#'))
            values_.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
}

std::string Info::text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string{} : found->second;
}

long long Info::number(const std::string& name) const {
    const auto digits = text(name);
    long long value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);  // else it stays 0
    return value;
}

std::string span_text(guard::Duration span) {
    const double seconds = std::chrono::duration<double>(span).count();
    if (seconds < 0.01) return fmt::format("{:.2f} ms", seconds * 1000);
    if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
    if (seconds < 120) return fmt::format("{:.4g} s", seconds);
    if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
    return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace store::redis
