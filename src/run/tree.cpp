#include "run/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "guard/descriptor.hpp"

namespace run {
namespace {

using namespace std::chrono_literals;

/// Between two looks at a tree that is being killed. The longest is reached after a second and a
/// half.
constexpr guard::Duration first_pause = 10ms;
constexpr guard::Duration longest_pause = 1s;

/// One line of /proc/PID/status, as proc(5) describes it. /proc may belong to an outer PID
/// namespace
/// (`unshare --pid` without --mount-proc); NSpid gives the pid in each namespace from there
/// inwards.
struct Status {
    pid_t pid = 0;  ///< in /proc's namespace, like `parent`
    pid_t parent = 0;
    std::vector<pid_t> ns_pids;  ///< from /proc's namespace to the process's own
};

std::optional<pid_t> number(std::string_view& text) noexcept {
    const auto start = text.find_first_of("0123456789");
    if (start == text.npos) return std::nullopt;
    text.remove_prefix(start);
    pid_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// The rest of the line that starts with `name`.
std::string_view field(std::string_view status, std::string_view name) noexcept {
    const auto at = status.find(name);
    if (at == status.npos) return {};
    const auto start = at + name.size();
    return status.substr(start, status.find('\n', start) - start);
}

std::string status_text(const char* pid) {
    const std::string path = std::string("/proc/") + pid + "/status";
    const guard::Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 4096> buffer{};
    const ssize_t size = file ? read(file.get(), buffer.data(), buffer.size()) : 0;
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

std::optional<Status> read_status(const char* pid) {
    const std::string text = status_text(pid);
    if (text.empty()) return std::nullopt;
    Status status;
    auto own = field(text, "\nPid:");
    auto parent = field(text, "\nPPid:");
    auto all = field(text, "\nNSpid:");
    status.pid = number(own).value_or(0);
    status.parent = number(parent).value_or(0);
    while (const auto next = number(all)) status.ns_pids.push_back(*next);
    if (status.ns_pids.empty()) status.ns_pids.push_back(status.pid);
    return status;
}

/// The part of `all` below `root` (a pid of /proc's namespace), down to `depth` generations,
/// without those that are `spared` and what is below them.
template <class Spared>
std::vector<Status> below(pid_t root, const std::vector<Status>& all, int depth, Spared spared) {
    std::unordered_multimap<pid_t, const Status*> by_parent;
    for (const auto& status : all) by_parent.emplace(status.parent, &status);
    std::vector<Status> found;
    std::vector<pid_t> generation{root};
    for (; depth > 0 && !generation.empty(); --depth) {
        std::vector<pid_t> next;
        for (const pid_t parent : generation) {
            const auto [first, last] = by_parent.equal_range(parent);
            for (auto at = first; at != last; ++at) {
                if (spared(*at->second)) continue;
                found.push_back(*at->second);
                next.push_back(at->second->pid);
            }
        }
        generation = std::move(next);
    }
    return found;
}

/// All numbers in a file of them.
std::vector<pid_t> numbers_in(const std::string& path) {
    const guard::Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; file && (got = read(file.get(), buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(got));
    std::vector<pid_t> numbers;
    for (std::string_view rest = text; const auto next = number(rest);) numbers.push_back(*next);
    return numbers;
}

/// The names in a folder of /proc that are numbers.
std::vector<std::string> numbered(const std::string& path) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') names.emplace_back(entry->d_name);
    return names;
}

/// All processes that /proc shows.
std::vector<Status> all_processes() {
    std::vector<Status> found;
    for (const auto& pid : numbered("/proc"))
        if (auto status = read_status(pid.c_str())) found.push_back(std::move(*status));
    return found;
}

bool contains(const std::vector<pid_t>& pids, pid_t pid) noexcept {
    return std::ranges::find(pids, pid) != pids.end();
}

std::vector<pid_t> our_pids_below(int depth, const std::vector<pid_t>& spared = {}) {
    const auto self = read_status("self");
    if (!self) return {};
    const std::size_t ours = self->ns_pids.size() - 1;
    const auto has_our_pid = [&](const Status& status) { return ours < status.ns_pids.size(); };
    const auto is_spared = [&](const Status& status) {
        return has_our_pid(status) && contains(spared, status.ns_pids[ours]);
    };
    std::vector<pid_t> pids;
    for (const auto& status : below(self->pid, all_processes(), depth, is_spared))
        if (has_our_pid(status)) pids.push_back(status.ns_pids[ours]);
    return pids;
}

}  // namespace

void become_subreaper(bool on) noexcept {
    prctl(PR_SET_CHILD_SUBREAPER, on ? 1L : 0L, 0L, 0L, 0L);
}

bool is_subreaper() noexcept {
    int on = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &on, 0L, 0L, 0L);
    return on != 0;
}

bool has_children() noexcept {
    siginfo_t info{};  // fails with ECHILD where there are none: waitid(2)
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::vector<pid_t> descendants(const std::vector<pid_t>& spared) {
    constexpr int no_limit = 1 << 20;
    return our_pids_below(no_limit, spared);
}

std::vector<pid_t> listed_descendants(const std::vector<pid_t>& spared) {
    const auto self = read_status("self");
    if (!self || self->ns_pids.size() != 1) return {};
    constexpr std::size_t most = 4096;  // a chain of forks may grow faster than we follow it
    std::vector<pid_t> found{self->pid};
    for (std::size_t i = 0; i < found.size() && found.size() < most; ++i) {
        const std::string tasks = "/proc/" + std::to_string(found[i]) + "/task/";
        for (const auto& task : numbered(tasks))
            for (const pid_t child : numbers_in(tasks + task + "/children"))
                if (!contains(spared, child)) found.push_back(child);
    }
    found.erase(found.begin());
    return found;
}

std::vector<pid_t> children() {
    return our_pids_below(1);
}

bool is_descendant(pid_t pid) {
    const auto self = read_status("self");
    // Walking up needs pids of /proc's namespace, which are ours only where /proc is.
    if (!self || self->ns_pids.size() != 1) return contains(descendants(), pid);
    while (pid > 1 && pid != self->pid) {
        const auto status = read_status(std::to_string(pid).c_str());
        if (!status) return false;
        pid = status->parent;
    }
    return pid == self->pid;
}

bool has_default_action(pid_t pid, int signal) {
    const std::string text = status_text(std::to_string(pid).c_str());
    const auto has = [&](std::string_view name) {
        const auto digits = field(text, name);
        const auto start = std::min(digits.find_first_not_of(" \t"), digits.size());
        std::uint64_t mask = 0;
        std::from_chars(digits.data() + start, digits.data() + digits.size(), mask, 16);
        return (mask >> (signal - 1) & 1) != 0;
    };
    return !has("\nSigIgn:") && !has("\nSigCgt:");
}

bool is_stopped(pid_t pid) {
    const std::string text = status_text(std::to_string(pid).c_str());
    return field(text, "\nState:").find("T (stopped)") != std::string_view::npos;
}

std::vector<pid_t> kill_descendants(const std::vector<pid_t>& spared, pid_t but) {
    const auto kill_them = [&](const std::vector<pid_t>& pids) {
        for (const pid_t pid : pids)
            if (pid != but) kill(pid, SIGKILL);
    };
    // At once, however many other processes there are.
    kill_them(listed_descendants(spared));
    auto all = descendants(spared);
    kill_them(all);
    return all;
}

TreeEnd::TreeEnd(guard::Deadline kill_at, std::vector<pid_t> spared, int first)
    : kill_at_(kill_at), spared_(std::move(spared)), pause_(first_pause) {
    for (const pid_t pid : descendants(spared_)) {
        kill(pid, first);
        kill(pid, SIGCONT);  // a stopped process takes its TERM only when it is continued
    }
}

void TreeEnd::hurry(guard::Deadline kill_at) noexcept {
    kill_at_ = std::min(kill_at_, kill_at);
}

guard::Deadline TreeEnd::step() {
    const auto now = guard::BootClock::now();
    if (now < kill_at_) return kill_at_;
    killed_ = true;
    const auto left = kill_descendants(spared_);
    // Who was forked while we looked is met at the next look.
    pause_ = std::min(2 * pause_, longest_pause);
    if (pause_ == longest_pause && !left.empty()) survivor_ = left.front();
    return now + pause_;
}

}  // namespace run
