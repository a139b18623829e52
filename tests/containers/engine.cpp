// Clients of a real container engine under the lock.
#include <doctest/doctest.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "containers/clients.hpp"
#include "support/docker_engine.hpp"
#include "support/program.hpp"
#include "support/pty.hpp"
#include "support/redis_server.hpp"

using namespace container_tests;
using namespace support;

namespace {

/// A container's first process gets no signal that it does not handle: pid_namespaces(7).
const Words heeds_term{"sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"};

bool is_ready(const Process& run) {
    return eventually([&] { return run.out().find("ready") != std::string::npos; });
}

}  // namespace

TEST_CASE("docker run and docker exec: the exit status and the output pass through") {
    DockerEngine& engine = shared_engine();
    SUBCASE("run") {
        auto run = locked(engine, "run-status", engine.run({}, {"sh", "-c", "echo in; exit 7"}));
        CHECK(run.wait() == 7);
        CHECK(run.out() == "in\n");
        CHECK(free("run-status"));
    }
    SUBCASE("run: input") {
        auto run =
            locked(engine, "run-input", engine.run({"-i"}, {"cat"}), {}, {.input = "one\ntwo\n"});
        CHECK(run.wait() == 0);
        CHECK(run.out() == "one\ntwo\n");
    }
    SUBCASE("run: no such program, and an option that there is not") {
        CHECK(locked(engine, "run-status", engine.run({}, {"/nowhere"})).wait() == 127);
        CHECK(locked(engine, "run-status", engine.run({"--nonsense"}, {"true"})).wait() == 125);
        CHECK(free("run-status"));
    }
    SUBCASE("exec") {
        const Running box(engine, "exec-status");
        auto exec = locked(engine, "exec-status", box.exec({}, {"sh", "-c", "echo in; exit 7"}));
        CHECK(exec.wait() == 7);
        CHECK(exec.out() == "in\n");
        auto killed = locked(engine, "exec-status", box.exec({}, {"sh", "-c", "kill -9 $$"}));
        CHECK(killed.wait() == 137);
        CHECK(free("exec-status"));
    }
}

TEST_CASE("TERM to the keeper: the container is gone before the slot is free") {
    DockerEngine& engine = shared_engine();
    auto run = locked(engine, "term", engine.run({"--name", "term-box"}, heeds_term));
    REQUIRE(is_ready(run));
    REQUIRE(engine.has("term-box"));
    // Whoever comes next looks for it.
    auto next = locked(engine, "term",
                       {"docker", "ps", "--all", "--filter", "name=term-box", "--format",
                        "{{.Names}} {{.Status}}"},
                       {"--retry-interval", "20ms"});
    REQUIRE(eventually([&] { return next.err().find("waiting") != std::string::npos; }));
    run.signal(SIGTERM);
    CHECK(run.wait() == 9);
    CHECK(next.wait() == 0);
    CHECK(next.out().empty());
    CHECK(free("term"));
}

namespace {

struct Seen {
    int status = 0;
    std::string screen;  ///< without the lines on new sizes: the engine may tell of one twice
    bool terminal_restored = false;
};

/// A person before a terminal: the size arrives and changes, Ctrl-C is for the program inside, a
/// line is read, the terminal is as before.
Seen session(const Words& argv, const Words& environment) {
    Pty pty;
    const auto resize = [&](unsigned short rows, unsigned short columns) {
        const winsize size{rows, columns, 0, 0};
        REQUIRE(ioctl(pty.slave(), TIOCSWINSZ, &size) == 0);
    };
    resize(41, 101);
    termios before{};
    REQUIRE(tcgetattr(pty.slave(), &before) == 0);
    Process client(argv, {.environment = environment, .terminal = pty.slave()});
    CHECK(pty.shows("fits"));
    resize(42, 102);
    CHECK(pty.shows("resized to 42 102"));
    pty.type("\x03");
    CHECK(pty.shows("interrupted"));
    pty.type("hello\r");
    CHECK(pty.shows("got hello"));
    Seen seen;
    seen.status = client.wait();
    termios after{};
    REQUIRE(tcgetattr(pty.slave(), &after) == 0);
    seen.terminal_restored = after.c_lflag == before.c_lflag && after.c_iflag == before.c_iflag &&
                             after.c_oflag == before.c_oflag;
    std::istringstream lines{pty.screen()};
        for (std::string line; std::getline(lines, line);) {
        // The terminal may discard the echo together with all other output: termios(3), NOFLSH.
        if (line.starts_with("^C")) line.erase(0, 2);
        if (line.find("resized") == line.npos) seen.screen += line + "\n";
    }
    return seen;
}

/// The engine sets the size only after the start.
const Words converses{"sh", "-c",
                      "until [ \"$(stty size 2>&1)\" = '41 101' ]; do sleep 0.02; done; "
                      "trap 'echo resized to $(stty size)' WINCH; trap 'echo interrupted' INT; "
                      "echo fits; until read line; do :; done; echo got $line; exit 5"};

void behaves_the_same(const DockerEngine& engine, const std::string& slot, const Words& client,
                      const std::string& container) {
    auto environment = clean_environment(shared_redis().unix_url());
    environment.insert(environment.end(), engine.environment().begin(), engine.environment().end());
    const auto bare = session(client, environment);
    CHECK(bare.status == 5);
    CHECK(bare.terminal_restored);
    for (const Words& options : {Words{}, Words{"--container", container}}) {
        Words wrapped{program_path()};
        wrapped.insert(wrapped.end(), options.begin(), options.end());
        wrapped.insert(wrapped.end(), {"agent:" + slot, "--"});
        wrapped.insert(wrapped.end(), client.begin(), client.end());
        const auto locked = session(wrapped, environment);
        CHECK(locked.status == 5);
        CHECK(locked.terminal_restored);
        CHECK(locked.screen == bare.screen);
        CHECK(free(slot));
    }
}

}  // namespace

TEST_CASE("docker run -it behaves on a terminal as without the lock") {
    DockerEngine& engine = shared_engine();
    behaves_the_same(engine, "run-tty", engine.run({"-it"}, converses), "run-tty");
}

TEST_CASE("docker exec -it behaves on a terminal as without the lock") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-tty");
    behaves_the_same(engine, "exec-tty", box.exec({"-it"}, converses), "exec-tty");
}
