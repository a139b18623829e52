#pragma once

#include <string>

namespace guard {

/// 128 random bits from the kernel, in hexadecimal.
[[nodiscard]] std::string random_id();

}  // namespace guard
