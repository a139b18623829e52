#pragma once

#include <string>

#include "guard/descriptor.hpp"

namespace support {

/// A socket at a free port of 127.0.0.1 that the kernel accepts connections for.
struct ListeningSocket {
    ListeningSocket();

    guard::Descriptor socket;
    std::string port;
};

}  // namespace support
