#include "bench/handover.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "bench/commands.hpp"
#include "bench/statistics.hpp"
#include "bench/waiter.hpp"
#include "support/eventually.hpp"

namespace bench {
namespace {

constexpr int most_of_heavy = 100;   ///< waiters; a thousand Go programs take all of the memory
constexpr std::size_t weighed = 20;  ///< the waiters whose memory is looked at

/// What came of all rounds of one tool.
struct Found {
    Figures milliseconds;
    Figures kib;
    Commands commands;
    int runs = 0;
    int overlaps = 0;
};

struct Run {
    long long start = 0;
    long long end = 0;
};

std::vector<Run> runs_in(const std::string& log) {
    std::vector<Run> runs;
    std::ifstream file{log};
    for (Run run; file >> run.start >> run.end;) runs.push_back(run);
    std::ranges::sort(runs, {}, &Run::start);
    return runs;
}

void add_runs(Found& found, const std::vector<Run>& runs) {
    found.runs += static_cast<int>(runs.size());
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const auto gap = runs[i].start - runs[i - 1].end;
        if (gap < 0) ++found.overlaps;
        found.milliseconds.push_back(static_cast<double>(gap) / 1e6);
    }
}

/// The processes of one round. None is left behind by a round that fails.
class Line {
public:
    Line() = default;
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line() {
        for (const pid_t pid : pids_) kill(pid, SIGTERM);
    }

    void add(const Words& argv) { pids_.push_back(spawn(argv)); }
    void wait(const Words& argv) {
        while (!pids_.empty()) {
            const pid_t pid = pids_.back();
            pids_.pop_back();
            wait_for_success(pid, argv);
        }
    }
    [[nodiscard]] const std::vector<pid_t>& pids() const noexcept { return pids_; }

private:
    std::vector<pid_t> pids_;
};

/// A holder keeps the gate closed until all wait; then they run one after the other.
void one_round(const Tool& tool, int waiters, const Toolbox& toolbox, const Options& options,
               Found& found) {
    const support::TempDir dir;
    const auto log = dir / "log";
    const auto gate = dir / "gate";
    const auto holder = tool.around({options.stamp, log, "1", gate});
    const auto next = tool.around({options.stamp, log, std::to_string(options.hold_ms)});
    Line first;
    Line others;
    first.add(holder);
    support::require_soon(tool.name + " does not start a command",
                          [&] { return std::filesystem::exists(log); });
    for (int i = 0; i < waiters; ++i) others.add(next);
    wait_for_rest(others.pids());
    for (std::size_t i = 0; i < std::min(others.pids().size(), weighed); ++i)
        found.kib.push_back(kib_of(others.pids()[i]));

    const auto before = commands_of(toolbox.redis(), tool.requests);
    std::ofstream{gate}.put('\n');
    first.wait(holder);
    others.wait(next);
    const auto after = commands_of(toolbox.redis(), tool.requests);
    found.commands.requests += after.requests - before.requests;
    found.commands.all += after.all - before.all;
    add_runs(found, runs_in(log));
}

nlohmann::ordered_json as_json(const Found& found, bool uses_redis) {
    nlohmann::ordered_json entry{{"ms",
                                  {{"median", quantile(found.milliseconds, 0.5)},
                                   {"p90", quantile(found.milliseconds, 0.9)},
                                   {"p99", quantile(found.milliseconds, 0.99)},
                                   {"max", quantile(found.milliseconds, 1)}}},
                                 {"runs", found.runs},
                                 {"overlaps", found.overlaps},
                                 {"waiter_kib", quantile(found.kib, 0.5)}};
    const auto per_handover = [&](long commands) {
        return static_cast<double>(commands) / static_cast<double>(found.milliseconds.size());
    };
    if (uses_redis)
        entry["commands"] = {{"requests", per_handover(found.commands.requests)},
                             {"all", per_handover(found.commands.all)}};
    return entry;
}

/// So that there are some dozens of hand-overs of each kind.
int rounds_for(int waiters, const Options& options) {
    if (options.rounds > 0) return options.rounds;
    return options.quick ? std::clamp(3 / waiters, 1, 3) : std::clamp(60 / waiters, 1, 10);
}

}  // namespace

nlohmann::ordered_json measure_handover(const Toolbox& toolbox, int waiters,
                                        const Options& options) {
    std::map<std::string, Found> found;
    for (int round = 0; round < rounds_for(waiters, options); ++round)
        for (const auto& tool : toolbox.tools())
            if (!tool.heavy || waiters <= most_of_heavy)
                one_round(tool, waiters, toolbox, options, found[tool.name]);
    nlohmann::ordered_json all{{"waiters", waiters}};
    for (const auto& tool : toolbox.tools())
        if (found.contains(tool.name))
            all["tools"][tool.name] = as_json(found[tool.name], !tool.requests.empty());
    return all;
}

}  // namespace bench
