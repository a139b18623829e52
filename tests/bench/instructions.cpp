#include "bench/instructions.hpp"

#include <filesystem>
#include <fstream>

#include "support/temp_dir.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

std::uint64_t total_in(const fs::path& callgrind_file) {
    std::ifstream file{callgrind_file};
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("totals: ")) return std::stoull(line.substr(8));
    return 0;
}

}  // namespace

Instructions instructions_of(const Words& argv, const std::string& valgrind) {
    const support::TempDir dir;
    // A forked process starts with its parent's counts, unless these were written out before.
    Words words{valgrind,
                "--tool=callgrind",
                "--quiet",
                "--log-file=/dev/null",
                "--dump-before=*fork*",
                "--callgrind-out-file=" + (dir / "%p")};
    words.insert(words.end(), argv.begin(), argv.end());
    const pid_t pid = spawn(words);
    wait_for_success(pid, words);
    Instructions found;
    for (const auto& part : fs::directory_iterator(dir / "")) {  // PID or PID.NUMBER
        const bool is_first = part.path().stem() == std::to_string(pid);
        (is_first ? found.first : found.forked) += total_in(part.path());
    }
    return found;
}

}  // namespace bench
