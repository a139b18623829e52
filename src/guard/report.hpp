#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace guard {

enum class Level {
    detail,   ///< shown with --verbose
    notice,   ///< shown unless --quiet
    warning,  ///< shown unless --quiet
    error,    ///< always shown
};

/// One thing that happened, told to a person as `text` and to a program as `event` and `facts`.
struct Report {
    using Fact = std::variant<std::string, std::int64_t, double>;

    Level level;
    std::string_view event;  ///< a stable name, in kebab case
    std::string text;        ///< one line, without the program's or the slot's name
    std::vector<std::pair<std::string_view, Fact>> facts = {};
};

using Reporter = std::function<void(const Report&)>;

}  // namespace guard
