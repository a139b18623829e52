#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

namespace bench {
namespace {

namespace fs = std::filesystem;

std::string variable_or(const char* name, const fs::path& otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise.string() : std::string(value);
}

void fill_in(Options& options) {
    if (!options.start && !options.handover) options.start = options.handover = true;
    if (options.waiters.empty())
        options.waiters =
            options.quick ? std::vector{1, 10, 30, 100} : std::vector{1, 10, 30, 100, 500, 1000};
    options.program = fs::absolute(options.program);
    for (auto& other : options.others) other = fs::absolute(other);
}

}  // namespace

Options read_options(int argc, char** argv) {
    const auto here = fs::read_symlink("/proc/self/exe").parent_path();
    Options options;
    // Meson says where they are; by hand they are where it builds them.
    options.program = variable_or("SANDBOX_LOCK_PROGRAM", here.parent_path() / "sandbox-lock");
    options.poller = variable_or("SANDBOX_LOCK_BENCH_POLLER", here / "bench-poller");
    options.stamp = variable_or("SANDBOX_LOCK_BENCH_STAMP", here / "bench-stamp");

    CLI::App app{"Measures sandbox-lock beside other ways to lock, all in turn within each round."};
    app.add_flag("--start", options.start, "only what it costs to wrap a command");
    app.add_flag("--handover", options.handover, "only how a slot passes from holder to holder");
    app.add_flag("--quick", options.quick, "half a minute instead of five");
    app.add_option("--rounds", options.rounds, "how often each is run")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--warm-up", options.warm_up, "rounds of the start before those that count")
        ->capture_default_str();
    app.add_flag("!--no-instructions", options.instructions, "without valgrind");
    app.add_option("--waiters", options.waiters, "how many wait, such as 1,10,100")
        ->delimiter(',')
        ->check(CLI::Range(1, 100'000));
    app.add_option("--hold", options.hold_ms, "how long each of them holds the slot, in ms")
        ->capture_default_str();
    app.add_flag("--unix", options.by_socket, "Redis by its UNIX socket instead of TCP");
    app.add_option("--only", options.only, "these alone, such as redis and flock");
    app.add_option("--json", options.json, "the figures as JSON; without FILE in the table's place")
        ->type_name("[FILE]")
        ->expected(0, 1)
        ->default_str("-");
    app.add_option("--svg", options.svg, "a picture of them (python3 draws it)")->type_name("FILE");
    app.add_option("--program", options.program, "the sandbox-lock to measure")
        ->check(CLI::ExistingFile);
    app.add_option("--against", options.others, "another build of it, in the same rounds")
        ->check(CLI::ExistingFile)
        ->allow_extra_args(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    fill_in(options);
    return options;
}

}  // namespace bench
