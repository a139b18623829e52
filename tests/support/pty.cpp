#include "support/pty.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "support/eventually.hpp"
#include "support/secret.hpp"

namespace support {

Pty::Pty() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    std::array<char, 64> name{};
    if (!master_ || grantpt(master_.get()) != 0 || unlockpt(master_.get()) != 0 ||
        ptsname_r(master_.get(), name.data(), name.size()) != 0)
        throw std::runtime_error("no pty");
    slave_ = guard::Descriptor{open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
}

void Pty::type(const std::string& text) const {
    if (write(master_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::runtime_error("pty write");
}

const std::string& Pty::screen() {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(master_.get(), buffer.data(), buffer.size())) > 0;)
        screen_.append(buffer.data(), static_cast<std::size_t>(got));
    check_no_secret(screen_, "what is on a terminal");
    return screen_;
}

bool Pty::shows(const std::string& text) {
    return eventually([&] { return screen().find(text) != std::string::npos; });
}

}  // namespace support
