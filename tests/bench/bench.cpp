// sandbox-lock beside other ways to lock: what it costs to wrap a command, and how soon a slot
// passes from one holder to the next. See options.cpp for what can be asked for, tools.cpp for the
// others.

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "bench/aims.hpp"
#include "bench/handover.hpp"
#include "bench/start.hpp"
#include "bench/table.hpp"

namespace {

using bench::Options;

nlohmann::ordered_json measured(const Options& options) {
    const bench::Toolbox toolbox(options);
    nlohmann::ordered_json all{{"machine", bench::machine()},
                               {"build", BUILD_KIND},
                               {"versions", toolbox.versions()},
                               {"missing", toolbox.missing()},
                               {"store", options.by_socket ? "unix" : "tcp"},
                               {"hold_ms", options.hold_ms}};
    if (options.start) all["start"] = bench::measure_start(toolbox, options);
    if (options.handover)
        for (const int waiters : options.waiters) {
            fmt::print(stderr, "bench: {} waiting ...\n", waiters);
            all["handover"].push_back(bench::measure_handover(toolbox, waiters, options));
        }
    all["aims"] = bench::aims_in(all);
    return all;
}

void write(const std::string& file, const std::string& text) {
    std::ofstream out{file};
    out << text << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void draw(const std::string& figures, const std::string& svg) {
    const support::TempDir dir;
    support::write_file(dir / "figures.json", figures);
    const bench::Words plot{bench::found_in_path("python3"), PLOT, dir / "figures.json", svg};
    bench::wait_for_success(bench::spawn(plot), plot);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = bench::read_options(argc, argv);
        bench::clean_environment();
        const auto all = measured(options);
        const auto figures = all.dump(2);
        fmt::print("{}", options.json == "-" ? figures + "\n" : bench::table_of(all));
        if (!options.json.empty() && options.json != "-") write(options.json, figures);
        if (!options.svg.empty()) draw(figures, options.svg);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
