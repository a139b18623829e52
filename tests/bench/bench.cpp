// What wrapping a command costs: sandbox-lock against flock(1), against a bare C floor (floor.c),
// and against the command alone. Other work on the machine blurs every single figure, so all of
// them run in turn within each round, and what counts is the median of the rounds' ratios.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/spawn.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace {

namespace fs = std::filesystem;
using bench::found_in_path;
using bench::spawn;
using bench::wait_for_success;
using bench::Words;

struct Options {
    int rounds = 300;
    int warm_up = 20;
    bool by_socket = false;
    bool json = false;
    bool no_instructions = false;
    std::string program;
    std::string floor;
    Words others;  ///< further builds of sandbox-lock
};

/// One of the things that are timed.
struct Subject {
    std::string name;
    Words argv;
    std::vector<double> milliseconds = {};  ///< one a round
};

double milliseconds_of(const Words& argv) {
    timespec start{};
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &start);
    wait_for_success(spawn(argv), argv);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return static_cast<double>(end.tv_sec - start.tv_sec) * 1e3 +
           static_cast<double>(end.tv_nsec - start.tv_nsec) / 1e6;
}

void time_all(std::vector<Subject>& subjects, const Options& options) {
    std::minstd_rand random;
    for (int round = -options.warm_up; round < options.rounds; ++round) {
        // None shall gain or lose by what it always follows.
        std::ranges::shuffle(subjects, random);
        for (auto& subject : subjects) {
            const double took = milliseconds_of(subject.argv);
            if (round >= 0) subject.milliseconds.push_back(took);
        }
    }
}

/// Of figures that came by round.
struct Spread {
    double median = 0;
    double p10 = 0;
    double p90 = 0;
    double error = 0;  ///< half of the median's 95 % interval

    explicit Spread(std::vector<double> figures) {
        std::ranges::sort(figures);
        const auto count = static_cast<double>(figures.size());
        const auto at = [&](double rank) {
            return figures[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))];
        };
        median = at(count * 0.5);
        p10 = at(count * 0.1);
        p90 = at(count * 0.9);
        // The order statistics around the median: a binomial's 1.96 standard deviations.
        const double half = 1.96 * std::sqrt(count) / 2;
        error = (at(count * 0.5 + half) - at(count * 0.5 - half)) / 2;
    }
};

Spread ratios(const Subject& above, const Subject& below) {
    std::vector<double> figures;
    for (std::size_t i = 0; i < above.milliseconds.size(); ++i)
        figures.push_back(above.milliseconds[i] / below.milliseconds[i]);
    return Spread{std::move(figures)};
}

/// User-mode instructions of one run, by process. The command itself is not among them.
struct Instructions {
    std::uint64_t first = 0;   ///< the process that was started: of sandbox-lock, the keeper
    std::uint64_t others = 0;  ///< what it forked: the warden

    [[nodiscard]] std::uint64_t sum() const noexcept { return first + others; }
};

std::uint64_t total_in(const fs::path& callgrind_file) {
    std::ifstream file{callgrind_file};
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("totals: ")) return std::stoull(line.substr(8));
    return 0;
}

std::optional<Instructions> instructions_of(const Words& argv, const std::string& valgrind) {
    if (valgrind.empty()) return std::nullopt;
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
        (is_first ? found.first : found.others) += total_in(part.path());
    }
    return found;
}

Options read_options(int argc, char** argv) {
    const auto here = fs::read_symlink("/proc/self/exe").parent_path();
    Options options;
    const auto variable_or = [](const char* name, const fs::path& otherwise) {
        const char* value = std::getenv(name);
        return value == nullptr ? otherwise.string() : std::string(value);
    };
    // Meson's `benchmark` says where they are; by hand they are where it builds them.
    options.program = variable_or("SANDBOX_LOCK_PROGRAM", here.parent_path() / "sandbox-lock");
    options.floor = variable_or("SANDBOX_LOCK_BENCH_FLOOR", here / "bench-floor");

    CLI::App app{"Times sandbox-lock, flock, a bare C floor and the command alone, in turn."};
    app.add_option("--rounds", options.rounds, "how often each is run")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--warm-up", options.warm_up, "rounds before those that count")
        ->capture_default_str();
    app.add_flag("--unix", options.by_socket, "Redis by its UNIX socket instead of TCP");
    app.add_flag("--json", options.json, "the figures as JSON");
    app.add_flag("--no-instructions", options.no_instructions, "without valgrind");
    app.add_option("--program", options.program, "the sandbox-lock to time")
        ->check(CLI::ExistingFile);
    app.add_option("--against", options.others,
                   "another build of sandbox-lock, timed in the same rounds")
        ->check(CLI::ExistingFile)
        ->allow_extra_args(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return options;
}

std::vector<Subject> make_subjects(const Options& options, const support::RedisServer& redis,
                                   const std::string& lock_file) {
    const auto absolute = [](const std::string& path) { return fs::absolute(path).string(); };
    const auto flock = found_in_path("flock");
    const auto command = found_in_path("true");
    if (flock.empty() || command.empty()) throw std::runtime_error("flock or true is not in PATH");
    const std::string server = options.by_socket ? redis.socket() : "127.0.0.1:" + redis.port();
    std::vector<Subject> subjects{
        {"sandbox-lock", {absolute(options.program), "agent:bench", command}},
        {"flock", {flock, lock_file, command}},
        {"floor", {options.floor, server, "agentscope:sandbox:lock:agent:bench-floor", command}},
        {"true", {command}},
    };
    for (const auto& other : options.others)
        subjects.push_back({other, {absolute(other), "agent:bench", command}});
    return subjects;
}

/// All figures, in the order of the subjects; each ratio is the first subject's.
nlohmann::ordered_json measured(std::vector<Subject> subjects, const Options& options) {
    nlohmann::ordered_json all{{"machine", bench::machine()},
                               {"build", BUILD_KIND},
                               {"store", options.by_socket ? "unix" : "tcp"},
                               {"rounds", options.rounds}};
    const std::string first = subjects.front().name;
    Words names;
    for (const auto& subject : subjects) names.push_back(subject.name);
    time_all(subjects, options);

    const auto named = [&](const std::string& name) -> const Subject& {
        return *std::ranges::find(subjects, name, &Subject::name);
    };
    const auto valgrind = options.no_instructions ? std::string{} : found_in_path("valgrind");
    for (const auto& name : names) {
        const auto& subject = named(name);
        const Spread times{subject.milliseconds};
        auto& entry = all["subjects"][name];
        entry["ms"] = {{"median", times.median}, {"p10", times.p10}, {"p90", times.p90}};
        if (name != first) {
            const auto ratio = ratios(named(first), subject);
            entry["ratio"] = {{"median", ratio.median}, {"error", ratio.error}};
        }
        if (name == "true") continue;  // it is the command, which is not counted in the others
        if (const auto count = instructions_of(subject.argv, valgrind))
            entry["instructions"] = {
                {"sum", count->sum()}, {"first", count->first}, {"forked", count->others}};
    }
    return all;
}

void print_table(const nlohmann::ordered_json& all) {
    const auto millions = [](const nlohmann::ordered_json& count) {
        return count.get<double>() / 1e6;
    };
    fmt::print("{}\n{} build, Redis by {}, {} rounds\n\n", all["machine"].get<std::string>(),
               all["build"].get<std::string>(), all["store"].get<std::string>(),
               all["rounds"].get<int>());
    fmt::print("{:<14}{:>8}{:>8}{:>8}    {}\n", "ms", "median", "p10", "p90", "sandbox-lock is");
    for (const auto& [name, entry] : all["subjects"].items()) {
        const auto& ms = entry["ms"];
        fmt::print("{:<14}{:>8.3f}{:>8.3f}{:>8.3f}", name, ms["median"].get<double>(),
                   ms["p10"].get<double>(), ms["p90"].get<double>());
        if (entry.contains("ratio"))
            fmt::print("    {:.3f} x {} (+-{:.3f})", entry["ratio"]["median"].get<double>(), name,
                       entry["ratio"]["error"].get<double>());
        fmt::print("\n");
    }
    fmt::print("\nUser-mode instructions, in millions, without the command's:\n");
    bool counted = false;
    for (const auto& [name, entry] : all["subjects"].items()) {
        if (!entry.contains("instructions")) continue;
        const auto& count = entry["instructions"];
        counted = true;
        fmt::print("{:<14}{:>8.3f}", name, millions(count["sum"]));
        if (count["forked"] != 0)
            fmt::print("  (keeper {:.3f}, warden {:.3f})", millions(count["first"]),
                       millions(count["forked"]));
        fmt::print("\n");
    }
    if (!counted) fmt::print("not counted: that takes valgrind\n");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = read_options(argc, argv);
        const support::RedisServer redis;
        bench::clean_environment();
        setenv("SANDBOX_LOCK_STORE", (options.by_socket ? redis.unix_url() : redis.url()).c_str(),
               1);
        const support::TempDir dir;
        const auto all = measured(make_subjects(options, redis, dir / "lock"), options);
        if (options.json)
            std::puts(all.dump(2).c_str());
        else
            print_table(all);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
