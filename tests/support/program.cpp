#include "support/program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace support {

std::string program_path() {
    const char* path = std::getenv("SANDBOX_LOCK_PROGRAM");
    if (path == nullptr)
        throw std::runtime_error("SANDBOX_LOCK_PROGRAM is not set: use meson test");
    return path;
}

std::string source_root() {
    const char* root = std::getenv("SANDBOX_LOCK_SOURCE");
    if (root == nullptr) throw std::runtime_error("SANDBOX_LOCK_SOURCE is not set: use meson test");
    return root;
}

std::vector<std::string> clean_environment(const std::string& store_url) {
    std::vector<std::string> changes{"REDIS_URL", "REDISCLI_AUTH"};
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (std::strncmp(*variable, "SANDBOX_LOCK_", 13) == 0)
            changes.emplace_back(*variable, std::strcspn(*variable, "="));
    changes.emplace_back("XDG_CONFIG_HOME=/nonexistent");
    if (!store_url.empty()) changes.push_back("SANDBOX_LOCK_STORE=" + store_url);
    return changes;
}

Process sandbox_lock(const std::string& store_url, const std::vector<std::string>& arguments,
                     Launch launch) {
    auto environment = clean_environment(store_url);
    environment.insert(environment.end(), launch.environment.begin(), launch.environment.end());
    launch.environment = std::move(environment);
    std::vector<std::string> argv{program_path()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Process(argv, launch);
}

std::string key_of(const std::string& isolation_key) {
    return "agentscope:sandbox:lock:" + isolation_key;
}

std::string fence_of(const std::string& isolation_key) {
    return "{" + key_of(isolation_key) + "}:fence";
}

}  // namespace support
