// The live line: what a person at a terminal sees while the program waits.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/pty.hpp"
#include "support/redis_server.hpp"
#include "support/screen.hpp"

using namespace support;

namespace {

using Rows = std::vector<std::string>;

/// A terminal of some width, and one who waits at it for a slot that a holder has.
class Window {
public:
    explicit Window(std::string slot, unsigned short columns = 120)
        : slot_(std::move(slot)), columns_(columns), holder_(hold()) {
        resize(columns);
        termios modes{};
        tcgetattr(pty_.slave(), &modes);
        modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        modes.c_oflag |= ONLCR;
        tcsetattr(pty_.slave(), TCSANOW, &modes);
        REQUIRE(eventually([&] { return holder_.out() == "in\n"; }));
    }

    ~Window() { free(); }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    /// Runs something else at the terminal.
    [[nodiscard]] Process run(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment = {}) const {
        Launch launch;
        launch.environment = clean_environment(shared_redis().unix_url());
        launch.environment.emplace_back("TERM=xterm");
        launch.environment.insert(launch.environment.end(), environment.begin(), environment.end());
        launch.terminal = pty_.slave();
        return Process(argv, launch);
    }
    [[nodiscard]] Process wait(const std::vector<std::string>& options,
                               const std::vector<std::string>& environment = {}) const {
        std::vector<std::string> argv{program_path()};
        argv.insert(argv.end(), options.begin(), options.end());
        argv.insert(argv.end(), {slot_, "--", "echo", "ran"});
        return run(argv, environment);
    }

    void resize(unsigned short columns) {
        columns_ = columns;
        const winsize size{24, columns, 0, 0};
        REQUIRE(ioctl(pty_.slave(), TIOCSWINSZ, &size) == 0);
    }
    void free() {
        if (holder_.ended()) return;
        holder_.signal(SIGTERM);
        (void)holder_.wait();
    }
    [[nodiscard]] Pty& pty() { return pty_; }
    [[nodiscard]] Rows rows() { return rows_of(pty_.screen(), columns_); }
    /// Whether the first row comes to have this in it.
    bool shows(const std::string& text) {
        return eventually([&] { return rows().front().find(text) != std::string::npos; });
    }
    /// Whether these and no other rows are there in the end.
    bool comes_to(const Rows& expected) {
        return eventually([&] { return rows() == expected; });
    }
    [[nodiscard]] std::string name() const { return "sandbox-lock: " + slot_ + ": "; }
    [[nodiscard]] pid_t holder() const { return holder_.pid(); }

private:
    [[nodiscard]] Process hold() const {
        return sandbox_lock(shared_redis().unix_url(), {"--label", "nightly", slot_, "--", "sh",
                                                        "-c", "echo in; exec sleep 1000"});
    }

    std::string slot_;
    std::size_t columns_;
    Process holder_;
    Pty pty_;
};

}  // namespace

TEST_CASE("the live line tells who holds and the place, and is gone when the command prints") {
    Window window("agent:live");
    auto first = window.wait({});
    REQUIRE(window.shows(window.name() + "waiting: held by nightly ("));
    CHECK(window.shows(", pid " + std::to_string(window.holder()) + ")"));
    CHECK(window.shows("; next in line"));
    CHECK(window.shows("waiting for 1s: held by nightly ("));
    CHECK(window.shows(") for "));
    CHECK(window.rows().size() == 1);
    window.free();
    CHECK(first.wait() == 0);
    CHECK(window.comes_to({"ran", ""}));
}

TEST_CASE("the live line counts those who came before") {
    Window window("agent:live-second");
    auto first = sandbox_lock(shared_redis().unix_url(), {"agent:live-second", "--", "true"});
    REQUIRE(eventually([&] { return first.err().find("; next in line\n") != std::string::npos; }));
    auto second = window.wait({});
    CHECK(window.shows("; 1 before you"));
    second.signal(SIGTERM);
    CHECK(second.wait() == 143);
}

TEST_CASE("the live line is gone before a wait's last message") {
    Window window("agent:live-end");
    SUBCASE("signal") {
        auto run = window.wait({});
        REQUIRE(window.shows("held by nightly"));
        run.signal(SIGTERM);
        CHECK(run.wait() == 143);
        CHECK(window.comes_to({window.name() + "interrupted by SIGTERM, nothing was run", ""}));
    }
    SUBCASE("time") {
        auto run = window.wait({"-w", "1.5"});
        REQUIRE(window.shows("; 1s left"));
        CHECK(run.wait() == 75);
        CHECK(window.shows(window.name() + "not acquired within 1.5"));
        CHECK(window.rows().front().find("left") == std::string::npos);
    }
}

TEST_CASE("a message in between has a line of its own, and the live line comes back below") {
    RedisServer redis;
    redis.command({"SET", key_of("agent:live-between"), "foreign"});
    Pty pty;
    Launch launch;
    launch.environment = {"TERM=xterm"};
    launch.terminal = pty.slave();
    auto run = sandbox_lock(redis.unix_url(), {"agent:live-between", "--", "true"}, launch);
    const auto rows = [&] { return rows_of(pty.screen(), 80); };
    REQUIRE(eventually([&] { return rows().front().find("held by") != std::string::npos; }));
    redis.kill();
    REQUIRE(pty.shows("trying again"));
    redis.start();
    redis.command({"SET", key_of("agent:live-between"), "foreign"});
    REQUIRE(eventually([&] { return rows().back().find("held by") != std::string::npos; }));
    CHECK(rows().front().starts_with("sandbox-lock: agent:live-between: "));
    CHECK(rows().front().find("held by") == std::string::npos);
    redis.command({"DEL", key_of("agent:live-between")});
    CHECK(run.wait() == 0);
    CHECK(eventually([&] { return rows().back().empty(); }));
}

TEST_CASE("the live line fits the window, also after a resize") {
    Window window("agent:live-size", 120);
    auto run = window.wait({"-w", "1000"});
    REQUIRE(window.shows("held by nightly ("));
    for (const int columns : {40, 20, 10, 1}) {
        CAPTURE(columns);
        const auto before = window.pty().screen().size();
        window.resize(static_cast<unsigned short>(columns));
        // The first drawing may have begun before; the second is over when the third begins.
        const auto drawings = [&] {
            const auto& screen = window.pty().screen();
            return std::count(screen.begin() + static_cast<std::ptrdiff_t>(before), screen.end(),
                              '\x1b');
        };
        REQUIRE(eventually([&] { return drawings() >= 3; }));
        const auto& screen = window.pty().screen();
        const auto last = screen.substr(screen.rfind('\x1b') + 3);
        CHECK(last.size() <= static_cast<std::size_t>(columns));  // with \r, so a column is free
        CHECK(screen.find('\n') == screen.npos);
    }
    window.resize(120);
    CHECK(eventually([&] {
        return rows_of(window.pty().screen().substr(window.pty().screen().rfind('\x1b')), 120)
                   .front()
                   .find("held by nightly (") != std::string::npos;
    }));
    run.signal(SIGTERM);
    CHECK(run.wait() == 143);
}

TEST_CASE("the live line goes when we are stopped, and is for the foreground only") {
    Window window("agent:live-job");
    // A shell with job control: the job is stopped, goes on behind, and comes back.
    auto shell = window.run({"sh", "-mc",
                             "\"$0\" agent:live-job -- echo ran; echo; echo one; read line; bg; "
                             "echo two; read line; echo three; fg; exit $?",
                             program_path()});
    const auto since = [&](const std::string& word) {
        const auto& screen = window.pty().screen();
        const auto at = screen.find("\n" + word + "\r\n");
        return at == screen.npos ? "" : screen.substr(at);
    };
    REQUIRE(window.shows("held by nightly"));
    window.pty().type("\x1a");  // Ctrl-Z
    REQUIRE(eventually([&] { return !since("one").empty(); }));
    CHECK(window.rows().front().empty());
    window.pty().type("\n");
    REQUIRE(eventually([&] { return since("two").find("next in line\r\n") != std::string::npos; }));
    CHECK(since("two").find('\x1b') == std::string::npos);
    window.pty().type("\n");
    REQUIRE(eventually([&] { return since("three").find("\x1b[K") != std::string::npos; }));
    window.free();
    CHECK(shell.wait() == 0);
    CHECK(eventually([&] { return rows_of(since("three"), 120).back().empty(); }));
    CHECK(since("three").find("\x1b[Kran\r\n") != std::string::npos);
}

TEST_CASE("the live line has no colours") {
    Window window("agent:live-colour");
    auto run = window.wait({}, {"NO_COLOR=1"});
    REQUIRE(window.shows("waiting for 1s"));
    const auto& screen = window.pty().screen();
    for (auto at = screen.find('\x1b'); at != screen.npos; at = screen.find('\x1b', at + 1))
        CHECK(screen.substr(at, 3) == "\x1b[K");
    run.signal(SIGTERM);
    CHECK(run.wait() == 143);
}

TEST_CASE("log lines in the live line's place") {
    Window window("agent:live-not");
    std::vector<std::string> options;
    std::vector<std::string> environment;
    std::string line = window.name() + "waiting: held by nightly (";
    SUBCASE("a dumb terminal") {
        environment = {"TERM=dumb"};
    }
    SUBCASE("an unknown one") {
        environment = {"TERM"};
    }
    SUBCASE("JSON") {
        options = {"--log-format", "json"};
        line = "\"ahead\":0}";
    }
    auto run = window.wait(options, environment);
    CHECK(eventually([&] { return window.pty().screen().find(line) != std::string::npos; }));
    CHECK(window.pty().shows("\n"));
    CHECK(window.pty().screen().find('\x1b') == std::string::npos);
    run.signal(SIGTERM);
    CHECK(run.wait() == 143);
}

TEST_CASE("-q has no live line") {
    Window window("agent:live-quiet");
    auto run = window.wait({"-q", "-w", "0.3"});
    CHECK(run.wait() == 75);
    CHECK(window.pty().shows("\n"));
    CHECK(window.pty().screen().starts_with(window.name() + "not acquired"));
}
