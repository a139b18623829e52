#include "run/warden.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/order.hpp"
#include "run/tree.hpp"

using namespace std::chrono_literals;

namespace {

/// Whether the warden ends a tree that ignores TERM before the lease is over, if it is told to send
/// KILL long after that.
bool ends_in_time() {
    using guard::BootClock;
    const auto original = run::OriginalSignals::take();
    auto warden = run::Warden::fork(original);
    if (!warden) return false;
    const auto deadline = BootClock::now() + 3s;
    const run::Order order{
        {"sh", "-c", "trap '' TERM; sleep 1000"}, {}, "", deadline, 1s, 1h, true, false};
    warden->channel.send({run::Message::start, 0, order.serialized()});
    warden->channel.send({run::Message::stop, (deadline + 1h).time_since_epoch().count()});
    bool ended = false;
    while (!ended && BootClock::now() < deadline) {
        pollfd news{warden->channel.fd(), POLLIN, 0};
        if (poll(&news, 1, 10) <= 0) continue;
        const auto message = warden->channel.receive();
        if (!message) break;
        ended = message->kind == run::Message::ended;
    }
    run::kill_descendants({});
    return ended;
}

}  // namespace

TEST_CASE("told to end the tree too late, the warden ends it before the lease is over") {
    const pid_t pid = fork();  // the warden's parent becomes a subreaper
    if (pid == 0) _exit(ends_in_time() ? 0 : 1);
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}
