#include "topology/runs.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <stdexcept>

namespace topology {

using support::eventually;
using support::Process;
using support::RedisNode;

Slot::Slot(std::string name, std::string store_url, std::vector<std::string> options)
    : url(std::move(store_url)), name_(std::move(name)), options_(std::move(options)) {}

Process Slot::start(const std::vector<std::string>& more_options,
                    const std::vector<std::string>& command) const {
    auto words = options_;
    words.insert(words.end(), more_options.begin(), more_options.end());
    words.insert(words.end(), {name_, "--"});
    words.insert(words.end(), command.begin(), command.end());
    return support::sandbox_lock(url, words);
}

std::string Slot::script(const std::string& run, const std::string& work) const {
    const auto note = [&](const std::string& what) {
        return "echo " + what + " " + run + " $SANDBOX_LOCK_FENCE >> " + dir_ / "journal";
    };
    return note("start") + "; " + work + "; " + note("end");
}

Process Slot::brief(const std::string& run, const std::string& seconds) const {
    return start({}, {"sh", "-c", script(run, "sleep " + seconds)});
}

Process Slot::lasting(const std::string& run) const {
    return start({},
                 {"sh", "-c", script(run, "until [ -e " + dir_ / run + " ]; do sleep 0.1; done")});
}

void Slot::end(const std::string& run) const {
    support::write_file(dir_ / run, "");
}

Process Slot::endless() const {
    auto run = start({}, {"sh", "-c", "echo \"$SANDBOX_LOCK_TOKEN\"; exec sleep 1000"});
    REQUIRE(eventually([&] { return run.out().ends_with('\n'); }));
    return run;
}

std::string Slot::status() const {
    auto status = support::sandbox_lock(url, {"status", name_});
    (void)status.wait();
    return status.out() + status.err();
}

int Slot::break_from(const Process& endless) const {
    auto token = endless.out();
    token.pop_back();
    return support::sandbox_lock(url, {"break", "--token", token, name_}).wait();
}

bool Slot::enters(const std::string& run) const {
    return eventually(
        [&] { return says(support::read_file(dir_ / "journal"), "start " + run + " "); });
}

std::string Slot::runs() const {
    const auto journal = support::read_file(dir_ / "journal");
    std::istringstream lines{journal};
    std::string names;
    long long last = 0;
    std::string what, name;
    for (long long fence = 0; lines >> what >> name >> fence; last = fence) {
        names += (names.empty() ? "" : " ") + name;
        std::string end, ended = name;
        long long end_fence = fence;
        lines >> end >> ended >> end_fence;
        if (what != "start" || ended != name || end_fence != fence)
            throw std::runtime_error("an overlap:\n" + journal);
        if (fence <= last) throw std::runtime_error("the fence does not grow:\n" + journal);
    }
    return names;
}

std::size_t Slot::ended_runs() const {
    const auto journal = support::read_file(dir_ / "journal");
    std::size_t count = 0;
    for (auto at = journal.find("end "); at != journal.npos; at = journal.find("end ", at + 1))
        ++count;
    return count;
}

long Slot::waiting_at(const RedisNode& server) const {
    const auto count = server.command({"ZCARD", "{" + key() + "}:queue"}).value_or("");
    return count.empty() || count.starts_with("ERROR") ? 0 : std::stol(count);
}

long Slot::left_at(const RedisNode& server) const {
    const auto left = server.command({"PTTL", key()}).value_or("");
    return left.empty() || left.starts_with("ERROR") ? 0 : std::stol(left);
}

std::vector<Process> Slot::line_up(const std::vector<std::string>& names,
                                   const RedisNode& server) const {
    std::vector<Process> waiters;
    for (const auto& run : names) {
        waiters.push_back(brief(run));
        REQUIRE(
            eventually([&] { return waiting_at(server) == static_cast<long>(waiters.size()); }));
    }
    return waiters;
}

}  // namespace topology
