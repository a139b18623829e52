#include <cstddef>
#include <cstdint>

#include "fuzz/target.hpp"

/// A Broken that is thrown from here ends the program, as every other fault that libFuzzer sees.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
