#include "run/tree.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "support/process.hpp"

using namespace support;

TEST_CASE("the kernel's lists of children name the tree, orphans included") {
    run::become_subreaper();
    const auto before = run::descendants();  // a server that tests share
    const Process shell({"sh", "-c", "sleep 1000 & (setsid sleep 1000 &) ; (sleep 1000; true); :"});
    std::vector<pid_t> all;
    CHECK(eventually([&] {
        all = run::descendants();
        auto listed = run::listed_descendants();
        std::ranges::sort(all);
        std::ranges::sort(listed);
        // The shell, a subshell, and three that sleep.
        return all.size() == before.size() + 5 && listed == all;
    }));
    run::become_subreaper(false);
    for (const pid_t pid : all) {
        if (std::ranges::count(before, pid) > 0 || pid == shell.pid()) continue;
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
}
