// How soon a slot passes from one holder to the next: from the end of one command to the start of
// the next one, as the commands themselves see it (stamp.c), with many waiters in the queue.
// sandbox-lock on each of its stores, flock(1), a client that polls Redis, and what else is there.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/spawn.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace {

namespace fs = std::filesystem;
using bench::Words;

struct Options {
    std::vector<int> waiters{30};
    int rounds = 3;
    int hold_ms = 20;
    bool json = false;
    std::string program;
    std::string stamp;
    Words only;
};

/// One way to lock: the words before the command.
struct Subject {
    std::string name;
    Words prefix;
    std::vector<double> milliseconds = {};
    int overlaps = 0;
    int runs = 0;
};

struct Run {
    long long start;
    long long end;
};

Words with_command(const Words& prefix, const Words& command) {
    Words argv = prefix;
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
}

std::vector<Run> runs_in(const std::string& log) {
    std::vector<Run> runs;
    std::ifstream file{log};
    for (Run run{}; file >> run.start >> run.end;) runs.push_back(run);
    std::ranges::sort(runs, {}, &Run::start);
    return runs;
}

/// A holder keeps the gate closed until all are in the queue; then they run one after the other.
void one_round(Subject& subject, int waiters, const Options& options) {
    using namespace std::chrono_literals;
    const support::TempDir dir;
    const auto log = dir / "log";
    const auto gate = dir / "gate";
    const auto first = with_command(subject.prefix, {options.stamp, log, "1", gate});
    const auto next =
        with_command(subject.prefix, {options.stamp, log, std::to_string(options.hold_ms)});
    std::vector<pid_t> all{bench::spawn(first)};
    std::this_thread::sleep_for(300ms);
    for (int i = 0; i < waiters; ++i) all.push_back(bench::spawn(next));
    std::this_thread::sleep_for(1s + waiters * 5ms);
    std::ofstream{gate}.put('\n');
    for (const pid_t pid : all) bench::wait_for_success(pid, next);

    const auto runs = runs_in(log);
    subject.runs += static_cast<int>(runs.size());
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const auto gap = runs[i].start - runs[i - 1].end;
        if (gap < 0) ++subject.overlaps;
        subject.milliseconds.push_back(static_cast<double>(gap) / 1e6);
    }
}

double quantile(std::vector<double> figures, double q) {
    if (figures.empty()) return 0;
    std::ranges::sort(figures);
    return figures[static_cast<std::size_t>(q * static_cast<double>(figures.size() - 1))];
}

std::vector<Subject> make_subjects(const Options& options, const support::RedisServer& redis,
                                   const support::TempDir& dir) {
    const auto poller = dir / "poller";
    // What a client without queue and messages does; the harness's interval.
    support::write_file(poller,
                        "#!/bin/sh\nuntil [ \"$(redis-cli -p " + redis.port() +
                            " set poller $$ nx px 30000)\" = OK ]; do sleep 0.5; done\n\"$@\"\n"
                            "redis-cli -p " +
                            redis.port() + " del poller >/dev/null\n");
    fs::permissions(poller, fs::perms::owner_all);
    const auto ours = [&](const std::string& store) {
        return Words{options.program, "-q", "--store", store, "agent:bench", "--"};
    };
    std::vector<Subject> subjects{
        {"file:", ours("file:" + dir / "locks")},
        {"redis", ours(redis.url())},
        {"redis+unix", ours(redis.unix_url())},
        {"flock", {bench::found_in_path("flock"), dir / "flock"}},
        {"poller 500ms", {poller}},
    };
    if (const auto etcdctl = bench::found_in_path("etcdctl"); !etcdctl.empty())
        subjects.push_back({"etcdctl lock", {etcdctl, "lock", "bench", "--"}});
    if (const auto consul = bench::found_in_path("consul"); !consul.empty())
        subjects.push_back({"consul lock", {consul, "lock", "-child-exit-code", "bench"}});
    if (!options.only.empty())
        std::erase_if(subjects, [&](const Subject& subject) {
            return std::ranges::find(options.only, subject.name) == options.only.end();
        });
    return subjects;
}

Options read_options(int argc, char** argv) {
    const auto here = fs::read_symlink("/proc/self/exe").parent_path();
    const auto variable_or = [](const char* name, const fs::path& otherwise) {
        const char* value = std::getenv(name);
        return value == nullptr ? otherwise.string() : std::string(value);
    };
    Options options;
    options.program = variable_or("SANDBOX_LOCK_PROGRAM", here.parent_path() / "sandbox-lock");
    options.stamp = variable_or("SANDBOX_LOCK_BENCH_STAMP", here / "bench-stamp");
    CLI::App app{"Times how soon a slot passes from holder to holder."};
    app.add_option("--waiters", options.waiters, "how many wait in the queue")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "how often each is run")->capture_default_str();
    app.add_option("--hold", options.hold_ms, "how long each holds the slot, in ms")
        ->capture_default_str();
    app.add_option("--only", options.only, "these alone, such as 'file:' and flock");
    app.add_flag("--json", options.json, "the figures as JSON");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return options;
}

nlohmann::ordered_json measured(std::vector<Subject> subjects, int waiters,
                                const Options& options) {
    for (int round = 0; round < options.rounds; ++round)
        for (auto& subject : subjects) one_round(subject, waiters, options);
    nlohmann::ordered_json all{{"waiters", waiters}};
    for (const auto& subject : subjects)
        all["subjects"][subject.name] = {{"median", quantile(subject.milliseconds, 0.5)},
                                         {"p90", quantile(subject.milliseconds, 0.9)},
                                         {"p99", quantile(subject.milliseconds, 0.99)},
                                         {"max", quantile(subject.milliseconds, 1)},
                                         {"runs", subject.runs},
                                         {"overlaps", subject.overlaps}};
    return all;
}

void print_table(const nlohmann::ordered_json& all) {
    fmt::print("\n{} waiters\n{:<16}{:>8}{:>8}{:>8}{:>9}{:>7}{:>10}\n", all["waiters"].get<int>(),
               "hand-over, ms", "median", "p90", "p99", "max", "runs", "overlaps");
    for (const auto& [name, entry] : all["subjects"].items())
        fmt::print("{:<16}{:>8.3f}{:>8.3f}{:>8.3f}{:>9.3f}{:>7}{:>10}\n", name,
                   entry["median"].get<double>(), entry["p90"].get<double>(),
                   entry["p99"].get<double>(), entry["max"].get<double>(), entry["runs"].get<int>(),
                   entry["overlaps"].get<int>());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = read_options(argc, argv);
        const support::RedisServer redis;
        const support::TempDir dir;
        bench::clean_environment();
        nlohmann::ordered_json all{{"machine", bench::machine()},
                                   {"build", BUILD_KIND},
                                   {"hold_ms", options.hold_ms},
                                   {"rounds", options.rounds}};
        if (!options.json)
            fmt::print("{}\n{} build, {} rounds, each holds for {} ms\n", bench::machine(),
                       BUILD_KIND, options.rounds, options.hold_ms);
        for (const int waiters : options.waiters) {
            const auto figures = measured(make_subjects(options, redis, dir), waiters, options);
            if (!options.json) print_table(figures);
            all["sizes"].push_back(figures);
        }
        if (options.json) std::puts(all.dump(2).c_str());
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "handover: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
