#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace support {

/// The wall clock of a program that is started with `environment`: it can be set while that runs.
class ShiftedClock {
public:
    ShiftedClock();

    /// Ahead of the machine's clock by so much; behind it where that is negative.
    void set(std::chrono::nanoseconds ahead) const;
    [[nodiscard]] std::vector<std::string> environment() const;

private:
    TempDir dir_;
    std::string file_ = dir_ / "clock";
};

}  // namespace support
