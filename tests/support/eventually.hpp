#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace support {

using namespace std::chrono_literals;

/// How long a test waits for a state that should come soon, on a machine that is busy.
inline constexpr auto patience = 20s;

/// Whether `condition` becomes true within `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::steady_clock::duration limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

/// The same for what needs long, by questions that take some work; throws `what` if it does not
/// come.
template <class Condition>
void require_soon(const std::string& what, Condition condition) {
    const auto paced = [&] {
        if (condition()) return true;
        std::this_thread::sleep_for(20ms);
        return false;
    };
    if (!eventually(paced, 3 * patience)) throw std::runtime_error(what);
}

/// Seconds since the object was made, for bounds with wide margins.
class Stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace support
