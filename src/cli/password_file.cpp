#include "cli/password_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "guard/descriptor.hpp"

namespace cli {
namespace {

using guard::Error;
using guard::Fault;

constexpr std::size_t longest_password = 65536;

guard::Result<std::optional<std::string>> from_file(const char* option, const std::string& path) {
    const auto refuse = [&](const std::string& why) {
        return Error{Fault::configuration, std::string(option) + " '" + path + "': " + why};
    };
    const guard::Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    struct stat about {};
    if (!file || fstat(file.get(), &about) != 0) return refuse(std::strerror(errno));
    if (S_ISREG(about.st_mode) && (about.st_mode & S_IROTH) != 0)
        return refuse("everybody may read it: chmod o-rwx");
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(file.get(), buffer.data(), buffer.size())) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return refuse(std::strerror(errno));
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > longest_password) return refuse("it is too long for a password");
    }
    text.erase(std::min(text.find_first_of("\r\n"), text.size()));
    if (text.empty()) return refuse("its first line is empty");
    return std::optional(text);
}

}  // namespace

guard::Result<std::optional<std::string>> find_password(const char* option, const std::string& path,
                                                        const char* variable) {
    if (!path.empty()) return from_file(option, path);
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return std::optional<std::string>{};
    return std::optional<std::string>{value};
}

}  // namespace cli
