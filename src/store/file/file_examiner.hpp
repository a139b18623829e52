#pragma once

#include <memory>
#include <string>

#include "store/examiner.hpp"
#include "store/url.hpp"

namespace store::file {

/// Looks at a directory of lock files: who may use it, and whether locks hold there.
[[nodiscard]] guard::Result<std::unique_ptr<Examiner>> examine(const Url& url,
                                                               const Access& access);

/// An error: there are no users but those of the system.
[[nodiscard]] guard::Result<std::string> needed_rights(const Url& url, const Access& access,
                                                       const std::string& prefix);

}  // namespace store::file
