#include "bench/start.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <random>
#include <stdexcept>

#include "bench/instructions.hpp"
#include "bench/statistics.hpp"

namespace bench {
namespace {

constexpr int rounds_of_heavy = 10;  ///< of so many, one is for a heavy tool

/// Milliseconds by the round in which they came.
using Times = std::map<std::string, std::map<int, double>>;

double milliseconds_of(const Words& argv) {
    timespec start{};
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &start);
    wait_for_success(spawn(argv), argv);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return static_cast<double>(end.tv_sec - start.tv_sec) * 1e3 +
           static_cast<double>(end.tv_nsec - start.tv_nsec) / 1e6;
}

Times time_all(std::vector<Tool> tools, const Words& command, int rounds, int warm_up) {
    Times times;
    std::minstd_rand random;
    for (int round = -warm_up; round < rounds; ++round) {
        // None shall gain or lose by what it always follows.
        std::ranges::shuffle(tools, random);
        for (const auto& tool : tools) {
            if (tool.heavy && round % rounds_of_heavy != 0) continue;
            const double took = milliseconds_of(tool.around(command));
            if (round >= 0) times[tool.name][round] = took;
        }
    }
    return times;
}

Figures values(const std::map<int, double>& by_round) {
    Figures figures;
    for (const auto& [round, value] : by_round) figures.push_back(value);
    return figures;
}

/// Of the rounds that have both.
Figures ratios(const std::map<int, double>& above, const std::map<int, double>& below) {
    Figures figures;
    for (const auto& [round, value] : below)
        if (const auto other = above.find(round); other != above.end())
            figures.push_back(other->second / value);
    return figures;
}

}  // namespace

nlohmann::ordered_json measure_start(const Toolbox& toolbox, const Options& options) {
    const Words command{found_in_path("true")};
    if (command[0].empty()) throw std::runtime_error("true is not in PATH");
    const auto valgrind = options.instructions ? found_in_path("valgrind") : std::string{};
    const int rounds = options.rounds > 0 ? options.rounds : options.quick ? 50 : 300;
    auto tools = toolbox.tools();
    tools.push_back({"true", {}});
    auto times = time_all(tools, command, rounds, options.warm_up);

    nlohmann::ordered_json all{{"rounds", rounds}};
    for (const auto& tool : tools) {
        auto& entry = all["tools"][tool.name];
        const auto ms = values(times[tool.name]);
        entry["ms"] = {
            {"median", quantile(ms, 0.5)}, {"p10", quantile(ms, 0.1)}, {"p90", quantile(ms, 0.9)}};
        const auto& first = tools.front().name;
        if (const auto ratio = ratios(times[first], times[tool.name]); tool.name != first)
            entry["ratio"] = {{"median", quantile(ratio, 0.5)}, {"error", error_of_median(ratio)}};
        // `true` is the command, which is not counted in the others.
        if (valgrind.empty() || tool.heavy || tool.prefix.empty()) continue;
        const auto count = instructions_of(tool.around(command), valgrind);
        entry["instructions"] = {
            {"sum", count.first + count.forked}, {"first", count.first}, {"forked", count.forked}};
    }
    return all;
}

}  // namespace bench
