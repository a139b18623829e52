#pragma once

#include "guard/result.hpp"

namespace cli {

/// The exit statuses of DESIGN section 6; where sysexits.h has a name for one, it is used.
enum ExitStatus : int {
    usage_error = 64,
    store_unreachable = 69,
    internal_error = 70,
    system_error = 71,
    not_acquired = 75,
    store_denied = 77,
    bad_configuration = 78,
    lease_lost = 79,
    not_executable = 126,
    not_found = 127,
    by_signal = 128,  ///< plus the signal's number
};

/// The status for an error, where `conflict` is what the user wants for a slot that was taken. An
/// interruption has none: it ends by its signal.
[[nodiscard]] int status_of(guard::Fault fault, int conflict) noexcept;

}  // namespace cli
