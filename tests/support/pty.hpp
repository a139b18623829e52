#pragma once

#include <string>

#include "guard/descriptor.hpp"

namespace support {

/// A pseudo-terminal: the test is the person before it.
class Pty {
public:
    Pty();

    [[nodiscard]] int slave() const noexcept { return slave_.get(); }
    void type(const std::string& text) const;
    /// What has been written to the screen so far.
    const std::string& screen();
    /// Whether `text` comes onto the screen.
    bool shows(const std::string& text);

private:
    guard::Descriptor master_;
    guard::Descriptor slave_;
    std::string screen_;
};

}  // namespace support
