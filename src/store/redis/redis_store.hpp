#pragma once

#include <memory>

#include "store/store.hpp"
#include "store/url.hpp"

namespace store::redis {

/// A store on one Redis or Valkey server: see DESIGN section 4 and the scripts beside this file.
[[nodiscard]] guard::Result<std::unique_ptr<Store>> open(const Url& url, const Access& access,
                                                         guard::Claim claim,
                                                         guard::Reporter reporter);

}  // namespace store::redis
