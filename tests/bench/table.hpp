#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace bench {

/// All figures as a table for people: a column for each tool.
[[nodiscard]] std::string table_of(const nlohmann::ordered_json& figures);

}  // namespace bench
