#pragma once

#include <memory>

#include "store/examiner.hpp"
#include "store/url.hpp"

namespace store::redis {

/// Looks at a Redis server from the lock's side: what a run needs is tried for real, on a slot of
/// its own under the prefix in use.
[[nodiscard]] guard::Result<std::unique_ptr<Examiner>> examine(const Url& url,
                                                               const Access& access);

}  // namespace store::redis
