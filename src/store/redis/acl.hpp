#pragma once

#include <string>

#include "store/store.hpp"
#include "store/url.hpp"

namespace store::redis {

/// A command for redis-cli(1) that makes a user with no more rights than the slots under `prefix`
/// need, and comments on those that may be left out. Nothing is connected.
[[nodiscard]] guard::Result<std::string> needed_rights(const Url& url, const Access& access,
                                                       const std::string& prefix);

}  // namespace store::redis
