#include "support/shifted_clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "guard/descriptor.hpp"

namespace support {

ShiftedClock::ShiftedClock() {
    set({});
}

void ShiftedClock::set(std::chrono::nanoseconds ahead) const {
    const guard::Descriptor file{open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    const std::int64_t ns = ahead.count();
    if (!file || pwrite(file.get(), &ns, sizeof ns, 0) != sizeof ns)
        throw std::runtime_error("cannot set a clock");
}

std::vector<std::string> ShiftedClock::environment() const {
    const char* library = std::getenv("SANDBOX_LOCK_TEST_CLOCK");
    if (library == nullptr)
        throw std::runtime_error("SANDBOX_LOCK_TEST_CLOCK is not set: use meson test");
    return {std::string("LD_PRELOAD=") + library, "TEST_CLOCK=" + file_};
}

}  // namespace support
