#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "guard/clock.hpp"

namespace store::redis {

/// What INFO answers: lines of `name:value`.
class Info {
public:
    Info() = default;
    explicit Info(std::string_view answer);

    [[nodiscard]] bool empty() const noexcept { return values_.empty(); }

    /// Empty where the server does not tell it.
    [[nodiscard]] std::string text(const std::string& name) const;
    [[nodiscard]] long long number(const std::string& name) const;

private:
    std::map<std::string, std::string> values_;
};

/// A span for a person: `0.21 ms`, `12 s`, `3 h`.
[[nodiscard]] std::string span_text(guard::Duration span);

}  // namespace store::redis
