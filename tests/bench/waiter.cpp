#include "bench/waiter.hpp"

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace bench {
namespace {

std::string about(pid_t pid, const std::string& file) {
    return support::read_file("/proc/" + std::to_string(pid) + "/" + file);
}

double pss_of(pid_t pid) {
    const auto rollup = about(pid, "smaps_rollup");
    const auto at = rollup.find("\nPss:");
    return at == rollup.npos ? 0 : std::stod(rollup.substr(at + 5));
}

}  // namespace

void wait_for_rest(std::vector<pid_t> pids) {
    using namespace std::chrono_literals;
    std::map<pid_t, std::string> before;
    support::require_soon("a waiter does not come to rest", [&] {
        std::erase_if(pids, [&](pid_t pid) {
            auto now = about(pid, "schedstat");  // how long it has run, and waited to run
            const bool same = now == std::exchange(before[pid], now);
            return same && support::state_of(pid) == 'S';
        });
        std::this_thread::sleep_for(100ms);
        return pids.empty();
    });
}

double kib_of(pid_t pid) {
    double kib = pss_of(pid);
    for (const pid_t child : support::children_of(pid)) kib += pss_of(child);
    return kib;
}

}  // namespace bench
