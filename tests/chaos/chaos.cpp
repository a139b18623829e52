// Contenders for some slots, and a nemesis: see faults.hpp for what it does, checker.hpp for what
// is looked at afterwards, permitted.hpp for what is no violation. The same seed gives the same
// plans of the runs and the same schedule of faults.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "chaos/cable.hpp"
#include "chaos/checker.hpp"
#include "chaos/contenders.hpp"
#include "chaos/nemesis.hpp"
#include "chaos/server.hpp"
#include "chaos/wire.hpp"
#include "support/eventually.hpp"

namespace {

using namespace std::chrono_literals;
using namespace chaos;

struct Options {
    int seconds = 20;
    std::uint64_t seed = 1;
    std::size_t contenders = 24;
    int slots = 6;
    std::string logs;
};

Options parse(int argc, char** argv) {
    Options options;
    CLI::App app{"Chaos: contenders for locks, and faults of all kinds."};
    app.add_option("--seconds", options.seconds, "how long")->capture_default_str();
    app.add_option("--seed", options.seed, "of the plans and faults")->capture_default_str();
    app.add_option("--contenders", options.contenders)->capture_default_str();
    app.add_option("--keys", options.slots)->capture_default_str();
    app.add_option("--logs", options.logs, "where to keep history and messages in any case");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return options;
}

/// Notes when the machine lets a process wait for a processor.
class StallWatch {
public:
    StallWatch() : thread_([this] { run(); }) {}
    ~StallWatch() { stop(); }
    StallWatch(const StallWatch&) = delete;
    StallWatch& operator=(const StallWatch&) = delete;

    std::vector<Span> stop() {
        ends_ = true;
        if (thread_.joinable()) thread_.join();
        return std::move(stalls_);
    }

private:
    static constexpr Duration pause = 10ms;
    static constexpr Duration least = 40ms;

    void run() {
        while (!ends_) {
            const auto from = BootClock::now();
            std::this_thread::sleep_for(pause);
            // As much work as it is to find a tree and kill it.
            const auto worked = support::children_of(getpid()).size();
            const auto to = BootClock::now();
            if (to - from - pause > least && worked > 0) stalls_.push_back({from + pause, to});
        }
    }

    std::atomic<bool> ends_ = false;
    std::vector<Span> stalls_;
    std::thread thread_;
};

/// A folder that stays if it is wanted or something went wrong.
class Logs {
public:
    explicit Logs(std::string path) : path_(std::move(path)), stays_(!path_.empty()) {
        if (stays_) {
            std::filesystem::create_directories(path_);
            return;
        }
        path_ = std::filesystem::temp_directory_path() / "sandbox-lock-chaos.XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    }
    ~Logs() {
        std::error_code ignored;
        if (!stays_) std::filesystem::remove_all(path_, ignored);
    }
    Logs(const Logs&) = delete;
    Logs& operator=(const Logs&) = delete;

    [[nodiscard]] std::string operator/(const std::string& name) const {
        return std::filesystem::path(path_) / name;
    }
    const std::string& keep() {
        stays_ = true;
        return path_;
    }

private:
    std::string path_;
    bool stays_;
};

std::unique_ptr<Cable> lay_cable() {
    try {
        return std::make_unique<Cable>();
    } catch (const std::exception& error) {
        fmt::print("no network namespace: {}\n", error.what());
        return nullptr;
    }
}

/// The longest lease, and what it takes beyond it until the last tree is gone.
constexpr Duration longest_lease = 3s;
/// The longest that a queue nobody uses stays in the store.
constexpr Duration longest_queue = 60s;

void look_for_remains(const std::string& mark, Server& server, Evidence& evidence) {
    evidence.left_in_store = server.keys_beyond(longest_queue);
    if (!support::eventually([&] { return server.held_slots().empty(); }, longest_lease + 1s))
        for (const auto& key : server.held_slots()) evidence.left_in_store.push_back(key);
    if (support::eventually([&] { return support::processes_with(mark).empty(); }, 5s)) return;
    for (const pid_t pid : support::processes_with(mark))
        evidence.left_running.push_back(fmt::format(
            "{} {}", pid, support::read_file("/proc/" + std::to_string(pid) + "/cmdline")));
}

Evidence create_chaos(const Options& options, const Logs& logs) {
    Evidence evidence;
    const auto cable = lay_cable();
    std::vector<std::string> addresses;
    if (cable) addresses.push_back(cable->address());
    Server server{addresses};
    Wire wire{server.socket()};
    const Ground ground{.direct_url = server.url(),
                        .distant_url = wire.url(),
                        .far_url = cable ? server.url_at(cable->address()) : "",
                        .cable = cable.get(),
                        .history = logs / "history",
                        .messages = logs / "messages",
                        .slots = options.slots};
    support::write_file(ground.history, "");
    Contenders contenders{options.contenders, options.seed, ground};
    Nemesis nemesis{options.seed, server, wire, cable.get(), contenders};
    StallWatch stall_watch;
    const auto step_until = [&](Time end, auto is_over) {
        while (BootClock::now() < end && !is_over()) {
            contenders.step();
            std::this_thread::sleep_for(2ms);
        }
    };
    step_until(BootClock::now() + std::chrono::seconds{options.seconds}, [&] {
        nemesis.step();
        return false;
    });
    nemesis.rest();
    contenders.start_no_more();
    step_until(BootClock::now() + 60s, [&] { return contenders.all_ended(); });
    evidence.stalls = stall_watch.stop();
    contenders.give(evidence);
    nemesis.give(evidence);
    look_for_remains(contenders.mark(), server, evidence);
    std::ifstream history{ground.history};
    evidence.signs = read_signs(history);
    return evidence;
}

double in_seconds(Duration span) {
    return std::chrono::duration<double>(span).count();
}

void report(const Evidence& evidence, const Verdict& verdict) {
    fmt::print("{} runs, {} entries, {} not disturbed, {} pairs in order\n", evidence.runs.size(),
               verdict.entries, verdict.waits, verdict.pairs);
    for (std::size_t i = 0; i < kinds; ++i) {
        const auto kind = static_cast<Kind>(i);
        fmt::print("{:>6} x {}\n", std::ranges::count(evidence.faults, kind, &Done::kind),
                   name_of(kind));
    }
    Duration stalled{};
    for (const auto& stall : evidence.stalls) stalled += stall.length();
    fmt::print(
        "longest hand-over {:.3f} s, without a fault near it {:.3f} s; longest wait {:.3f} s\n",
        in_seconds(verdict.longest_handover), in_seconds(verdict.longest_calm_handover),
        in_seconds(verdict.longest_wait));
    fmt::print("the machine was late {} times, {:.1f} s in all\n", evidence.stalls.size(),
               in_seconds(stalled));
    for (const auto& [why, count] : verdict.permitted)
        fmt::print("{} overlaps permitted: {}\n", count, why);
    for (const auto& violation : verdict.violations) fmt::print("VIOLATION {}\n", violation);
}

/// What was done and what became of the runs, in s from the first run on.
void write_story(const Evidence& evidence, const std::string& path) {
    const auto at = [&](Time time) {
        return fmt::format("{:.3f}", in_seconds(time - evidence.runs.front().spawned));
    };
    std::ofstream out{path};
    for (const auto& fault : evidence.faults)
        out << fmt::format("{} to {}: {}, run {}, jump {:.3f}\n", at(fault.span.from),
                           at(fault.span.to), name_of(fault.kind), fault.run,
                           in_seconds(fault.jump));
    for (const auto& stall : evidence.stalls)
        out << fmt::format("{} to {}: the machine was late\n", at(stall.from), at(stall.to));
    for (std::size_t i = 0; i < evidence.runs.size(); ++i) {
        const auto& run = evidence.runs[i];
        out << fmt::format("run {}, slot {}, ttl {}: {}, waiting {}, ended {} with {}\n", i,
                           run.slot, in_seconds(run.ttl), at(run.spawned),
                           run.waiting == Time{} ? "-" : at(run.waiting), at(run.ended),
                           run.status);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const auto options = parse(argc, argv);
        Logs logs{options.logs};
        const auto evidence = create_chaos(options, logs);
        const auto verdict = judge(evidence);
        fmt::print("seed {}, {} s: ", options.seed, options.seconds);
        report(evidence, verdict);
        write_story(evidence, logs / "story");
        if (verdict.violations.empty()) return EXIT_SUCCESS;
        fmt::print("FAILED with --seed {}; history and messages are in {}\n", options.seed,
                   logs.keep());
    } catch (const std::exception& error) {
        fmt::print(stderr, "chaos: {}\n", error.what());
    }
    return EXIT_FAILURE;
}
