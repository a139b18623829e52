#include "support/github_runner.hpp"

#include <csignal>

namespace support {
namespace {

Process start(const Workplace& place, const std::string& script) {
    const auto file = place / "step.sh";
    write_file(file, script + "\n");
    return place.start({"bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file});
}

}  // namespace

GithubStep::GithubStep(const Workplace& place, const std::string& script)
    : process_(start(place, script)) {}

int GithubStep::cancel() {
    for (const auto& [signal, pause] : {std::pair{SIGINT, 7500ms}, {SIGTERM, 2500ms}}) {
        process_.signal(signal);
        if (eventually([&] { return process_.ended(); }, pause)) return signal;
    }
    process_.signal(SIGKILL);
    process_.wait();
    return SIGKILL;
}

}  // namespace support
