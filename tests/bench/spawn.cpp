#include "bench/spawn.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/program.hpp"

namespace bench {
namespace {

std::string processor() {
    std::ifstream file{"/proc/cpuinfo"};
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown processor";
}

}  // namespace

std::string found_in_path(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::istringstream folders{path == nullptr ? "/usr/bin:/bin" : path};
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const auto file = folder + "/" + name; access(file.c_str(), X_OK) == 0) return file;
    return {};
}

pid_t spawn(const Words& words) {
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t pid = 0;
    if (const int error = posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
        error != 0)
        throw std::runtime_error(fmt::format("cannot run {}: {}", words[0], std::strerror(error)));
    return pid;
}

void wait_for_success(pid_t pid, const Words& argv) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0)
        throw std::runtime_error(fmt::format("{} failed: wait status {:#x}", argv[0], status));
}

void clean_environment() {
    for (const auto& change : support::clean_environment("")) {
        const auto equals = change.find('=');
        if (equals == change.npos)
            unsetenv(change.c_str());
        else
            setenv(change.substr(0, equals).c_str(), change.c_str() + equals + 1, 1);
    }
}

std::string machine() {
    utsname name{};
    uname(&name);
    std::array<double, 1> load{};
    getloadavg(load.data(), 1);
    return fmt::format("{}, {} cores, {} {}, load {:.1f}", processor(),
                       sysconf(_SC_NPROCESSORS_ONLN), name.sysname, name.release, load[0]);
}

}  // namespace bench
