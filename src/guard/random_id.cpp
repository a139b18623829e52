#include "guard/random_id.hpp"

#include <sys/random.h>

#include <array>

namespace guard {

std::string random_id() {
    std::array<unsigned char, 16> bytes{};
    // Up to 256 bytes come whole and without EINTR once the kernel's pool is ready: getrandom(2).
    while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    }
    std::string hex;
    hex.reserve(2 * bytes.size());
    for (const unsigned char byte : bytes) {
        hex += "0123456789abcdef"[byte >> 4];
        hex += "0123456789abcdef"[byte & 15];
    }
    return hex;
}

}  // namespace guard
