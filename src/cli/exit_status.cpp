#include "cli/exit_status.hpp"

namespace cli {

int status_of(guard::Fault fault, int conflict) noexcept {
    switch (fault) {
        case guard::Fault::usage:
            return usage_error;
        case guard::Fault::configuration:
            return bad_configuration;
        case guard::Fault::unreachable:
            return store_unreachable;
        case guard::Fault::denied:
            return store_denied;
        case guard::Fault::taken:
            return conflict;
        case guard::Fault::system:
            return system_error;
        case guard::Fault::interrupted:
        case guard::Fault::internal:
            break;
    }
    return internal_error;
}

}  // namespace cli
