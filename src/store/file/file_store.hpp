#pragma once

#include <memory>
#include <string>

#include "store/store.hpp"
#include "store/url.hpp"

namespace store::file {

/// A store for one machine: a directory of files that are locked by flock(2), see lock_file.hpp.
/// The URL is `file:DIR`, or `file:` for the default directory. Nothing lapses there: the kernel
/// frees the slot when the last process that has the anchor is gone.
[[nodiscard]] guard::Result<std::unique_ptr<Store>> open(const Url& url, const Access& access,
                                                         guard::Claim claim,
                                                         guard::Reporter reporter);

/// The directory that a URL names, empty for the default one; anything else in it is refused.
[[nodiscard]] guard::Result<std::string> directory_in(const Url& url);

}  // namespace store::file
