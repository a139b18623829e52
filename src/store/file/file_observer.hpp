#pragma once

#include <memory>

#include "store/observer.hpp"
#include "store/url.hpp"

namespace store::file {

/// Looks at the lock files of a directory. The kernel's list of locks says who holds and who waits;
/// nothing is locked for that. It has the processes of our own PID namespace alone.
[[nodiscard]] guard::Result<std::unique_ptr<Observer>> observe(const Url& url, const Access& access,
                                                               const guard::Reporter& reporter);

}  // namespace store::file
