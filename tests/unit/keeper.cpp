#include "run/keeper.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "run/order.hpp"

using namespace std::chrono_literals;

namespace {

/// A child that has ended and was reaped, as one is that is killed while the slot is awaited.
pid_t reaped_child() {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
}

/// Whether a run ends whose warden dies only after it was told to start the command.
bool ends_without_warden() {
    const auto original = run::OriginalSignals::take();
    const auto signals = run::SignalReader::for_keeper();
    auto ends = run::Channel::pair();
    if (!ends) return false;
    auto& [ours, its] = *ends;
    run::Keeper keeper{
        {reaped_child(), std::move(ours), {}, false}, signals, original, [](auto&) {}};
    keeper.start({{"true"}, {}, "", guard::BootClock::now() + 1h, 1s, 1s, true, false}, {});
    its.close();
    return keeper.wait(-1, 0, guard::BootClock::now() + 10s) == guard::Wake::interrupted &&
           keeper.finish().how == run::RunEnd::warden_killed;
}

}  // namespace

TEST_CASE("a warden that was reaped before its death is noticed: the run ends all the same") {
    const pid_t pid = fork();  // what is left of the tree is ended, which is no business of others
    if (pid == 0) _exit(ends_without_warden() ? 0 : 1);
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}
