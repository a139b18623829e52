#include "container/processes.hpp"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

namespace container {
namespace {

std::string contents(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>(file), {}};
}

/// `word` between separators, of which `text` has some before and behind.
bool has_word(std::string_view text, std::string_view word, std::string_view separators) {
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        const auto end = at + word.size();
        const bool starts = at == 0 || separators.find(text[at - 1]) != separators.npos;
        const bool ends = end == text.size() || separators.find(text[end]) != separators.npos;
        if (starts && ends) return true;
    }
    return false;
}

/// By /proc/PID/stat: the second field is in parentheses and may hold anything, the fourth is the
/// parent, the 22nd the time of the start.
Process read_process(pid_t pid, const std::string& folder) {
    const std::string stat = contents(folder + "/stat");
    std::istringstream fields{stat.substr(std::min(stat.rfind(')') + 1, stat.size()))};
    std::string skipped;
    Process process{.pid = pid, .parent = 0, .marked = false};
    fields >> skipped >> process.parent;
    for (int field = 5; field < 22; ++field) fields >> skipped;
    fields >> process.started;
    return process;
}

}  // namespace

std::vector<Process> read_table(std::string_view text, std::string_view mark) {
    std::vector<Process> found;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        Process process{};
        std::istringstream fields{line};
        if (!(fields >> process.pid >> process.parent)) continue;  // the heading
        process.marked = has_word(line, mark, " ");
        found.push_back(process);
    }
    return found;
}

std::vector<Process> marked_tree(const std::vector<Process>& all) {
    std::vector<Process> tree;
    std::ranges::copy_if(all, std::back_inserter(tree), &Process::marked);
    std::set<pid_t> pids;
    for (const auto& process : tree) pids.insert(process.pid);
    for (std::size_t i = 0; i < tree.size(); ++i)
        for (const auto& process : all)
            if (process.parent == tree[i].pid && pids.insert(process.pid).second)
                tree.push_back(process);
    return tree;
}

bool has_first(const std::vector<Process>& tree, const std::vector<Process>& all) {
    return std::ranges::any_of(tree, [&](const Process& process) {
        return std::ranges::find(all, process.parent, &Process::pid) == all.end();
    });
}

std::vector<Process> processes_here(std::string_view mark) {
    std::vector<Process> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
    if (!proc) return found;
    while (const dirent* entry = readdir(proc.get())) {
        const std::string_view name{entry->d_name};
        pid_t pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{})
            continue;
        const std::string folder = "/proc/" + std::string(name);
        auto process = read_process(pid, folder);
        process.marked = has_word(contents(folder + "/environ"), mark, std::string_view{"\0", 1});
        found.push_back(process);
    }
    return found;
}

}  // namespace container
