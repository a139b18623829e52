#include "container/processes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "support/process.hpp"

using container::Process;

namespace {

std::vector<pid_t> pids_of(const std::vector<Process>& processes) {
    std::vector<pid_t> pids;
    for (const auto& process : processes) pids.push_back(process.pid);
    std::ranges::sort(pids);
    return pids;
}

/// A container with two execs, as `docker top` shows it.
const char* const table = R"(PID                 PPID                COMMAND
2311                2292                sleep 100000 PATH=/bin HOME=/
2440                2292                sleep 8006 HOME=/ SANDBOX_LOCK_EXEC=other
2474                2292                sh -c setsid SANDBOX_LOCK_EXEC=mine HOME=/
2484                2311                sleep 8001 HOME=/ SANDBOX_LOCK_EXEC=mine
2487                2311                /bin/sleep 8003
2488                2474                /bin/sh -c sleep 8004; true
2489                2488                sleep 8004
2490                2311                sleep X=SANDBOX_LOCK_EXEC=mine
2491                2311                sleep SANDBOX_LOCK_EXEC=mine2
)";

}  // namespace

TEST_CASE("an exec's processes are those with its mark and their descendants, and nobody else") {
    const auto all = container::read_table(table, "SANDBOX_LOCK_EXEC=mine");
    CHECK(all.size() == 9);
    const auto tree = container::marked_tree(all);
    CHECK(pids_of(tree) == std::vector<pid_t>{2474, 2484, 2488, 2489});
    CHECK(container::has_first(tree, all));
}

TEST_CASE("without its first process an exec has ended, whatever it left in the background") {
    auto all = container::read_table(table, "SANDBOX_LOCK_EXEC=mine");
    std::erase_if(all, [](const Process& process) { return process.pid == 2474; });
    for (auto& process : all)
        if (process.parent == 2474) process.parent = 2311;
    const auto tree = container::marked_tree(all);
    CHECK(pids_of(tree) == std::vector<pid_t>{2484});
    CHECK_FALSE(container::has_first(tree, all));
}

TEST_CASE("a table that is none has no processes") {
    CHECK(container::read_table("", "A=b").empty());
    CHECK(container::read_table("Error response from daemon: no\n\n", "A=b").empty());
}

TEST_CASE("marked processes of this machine are found by their environment") {
    const std::string mark = "UNIT_MARK=" + std::to_string(getpid());
    const support::Process child({"sh", "-c", "env -i sleep 1000 & wait"}, {.environment = {mark}});
    CHECK(support::eventually(
        [&] { return container::marked_tree(container::processes_here(mark)).size() == 2; }));
    CHECK(container::marked_tree(container::processes_here(mark + "0")).empty());
    for (const pid_t pid : support::children_of(child.pid())) kill(pid, SIGKILL);
}
