#pragma once

#include <memory>

#include "store/observer.hpp"
#include "store/url.hpp"

namespace store::redis {

/// Looks at the slots of one server, by status.lua and break.lua.
[[nodiscard]] guard::Result<std::unique_ptr<Observer>> observe(const Url& url, const Access& access,
                                                               const guard::Reporter& reporter);

}  // namespace store::redis
