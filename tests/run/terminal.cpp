// The command at a terminal: directly, and as a job of an interactive shell.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/pty.hpp"
#include "support/redis_server.hpp"

using support::alive;
using support::children_of;
using support::eventually;
using support::Launch;
using support::Process;
using support::Pty;
using support::read_file;
using support::sandbox_lock;
using support::shared_redis;
using support::state_of;
using support::TempDir;
using support::write_file;

namespace {

const std::string ctrl_c = "\x03";
const std::string ctrl_d = "\x04";
const std::string ctrl_z = "\x1a";

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
        ++found;
    return found;
}

bool held(const std::string& isolation_key) {
    return shared_redis().command({"GET", support::key_of(isolation_key)}).has_value();
}

void take_away(const std::string& isolation_key) {
    shared_redis().command({"SET", support::key_of(isolation_key), "foreign", "PX", "60000"});
}

void free(const std::string& isolation_key) {
    shared_redis().command({"DEL", support::key_of(isolation_key)});
}

/// The foreground process group of the terminal that `pid` is at.
pid_t foreground_group(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream words{stat.substr(stat.rfind(')') + 4)};
    pid_t number = 0;
    for (int field = 0; field < 5; ++field) words >> number;
    return number;
}

termios modes_of(const Pty& pty) {
    termios modes{};
    REQUIRE(tcgetattr(pty.slave(), &modes) == 0);
    return modes;
}

bool same_modes(const termios& one, const termios& other) {
    return one.c_iflag == other.c_iflag && one.c_oflag == other.c_oflag &&
           one.c_cflag == other.c_cflag && one.c_lflag == other.c_lflag &&
           std::memcmp(one.c_cc, other.c_cc, sizeof one.c_cc) == 0;
}

/// A directory with scripts and what they write; text that is typed comes back as an echo, so what
/// has happened is read from files. The scripts wait in the shell's own `read`: a shell that has
/// just forked by vfork(2) cannot be stopped while its child is.
class Desk {
public:
    Desk() {
        write_file(dir_ / "log", "");
        REQUIRE(mkfifo((dir_ / "gate").c_str(), 0600) == 0);
        gate_ = guard::Descriptor{open((dir_ / "gate").c_str(), O_RDWR | O_CLOEXEC)};
        const std::string wait = "echo $$ >pid; until read line <gate; do :; done; ";
        write_file(dir_ / "plain", wait + "exit 7\n");
        // A line for each signal.
        write_file(dir_ / "job",
                   "for s in INT QUIT TERM HUP WINCH CONT USR1 USR2; do trap \"echo got $s. "
                   ">>log\" $s; done\n" +
                       wait + "exit 7\n");
    }
    [[nodiscard]] std::string operator/(const std::string& name) const { return dir_ / name; }
    [[nodiscard]] std::string log() const { return read_file(dir_ / "log"); }
    [[nodiscard]] bool logged(const std::string& text) const {
        return eventually([&] { return log().find(text) != std::string::npos; });
    }
    [[nodiscard]] std::size_t times(const std::string& text) const { return count(log(), text); }
    /// Has the script end, with 7. Told again if need be: a shell drops what it has read if a
    /// signal comes just then, such as the last of a fence.
    void end() const {
        const pid_t pid = support::pids_in(read_file(dir_ / "pid")).front();
        REQUIRE(eventually([&] {
            REQUIRE(write(gate_.get(), "\n", 1) == 1);
            return eventually([&] { return !alive(pid); }, std::chrono::milliseconds{500});
        }));
    }
    /// The pid that the script wrote.
    [[nodiscard]] pid_t command() const {
        REQUIRE(eventually([&] { return read_file(dir_ / "pid").ends_with('\n'); }));
        const pid_t pid = support::pids_in(read_file(dir_ / "pid")).front();
        REQUIRE(support::rests_in_read(pid));
        return pid;
    }

private:
    TempDir dir_;
    guard::Descriptor gate_;
};

void default_signals() {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
}

Launch at(const Pty& pty, const Desk& desk) {
    Launch with;
    with.terminal = pty.slave();
    with.before_exec = [directory = desk / ""] {
        default_signals();
        if (chdir(directory.c_str()) != 0) _exit(99);
    };
    return with;
}

/// Makes sure that what was sent to the keeper before has come to the command, by a signal after
/// it. Sent again if need be: what came before may wake the shell, which then sleeps on a signal
/// that comes just before its next read.
void fence(const Desk& desk, pid_t keeper) {
    REQUIRE(support::rests_in_read(desk.command()));
    REQUIRE(eventually([&] {
        kill(keeper, SIGUSR2);
        return eventually([&] { return desk.times("got USR2.") > 0; },
                          std::chrono::milliseconds{500});
    }));
}

/// An interactive bash at a terminal of its own, with sandbox-lock in its PATH.
class Shell {
public:
    explicit Shell(const Desk& desk)
        : bash_({"bash", "--norc", "--noprofile", "--noediting", "-i"}, launch(desk)) {
        REQUIRE(prompted());
        run("PATH=" + directory_of_program() + ":$PATH");
    }

    ~Shell() {
        if (bash_.ended()) return;
        for (const pid_t job : children_of(bash_.pid())) kill(job, SIGKILL);
    }
    Shell(const Shell&) = delete;
    Shell& operator=(const Shell&) = delete;

    [[nodiscard]] Pty& pty() { return *pty_; }
    [[nodiscard]] pid_t pid() const { return bash_.pid(); }
    /// Closes the window.
    void hang_up() {
        pty_.reset();
        CHECK(bash_.wait() == 128 + SIGHUP);
    }

    /// Types a line that starts something in the foreground.
    void type(const std::string& line) { pty_->type(line + "\n"); }
    /// Types a line and waits for the next prompt.
    void run(const std::string& line) {
        type(line);
        REQUIRE(prompted());
    }
    /// Whether one more prompt comes than were seen before.
    bool prompted() {
        ++prompts_;
        return eventually([&] { return count(pty_->screen(), "ready> ") >= prompts_; });
    }
    /// The status of the last command.
    int status() {
        run("echo sta''tus=$?.");
        const auto& screen = pty_->screen();
        const auto found = screen.rfind("status=");
        return found == screen.npos ? -1 : std::atoi(screen.c_str() + found + 7);
    }
    /// The keeper, which is the shell's only child.
    pid_t keeper() {
        REQUIRE(eventually([&] { return children_of(bash_.pid()).size() == 1; }));
        return children_of(bash_.pid()).front();
    }

private:
    static std::string directory_of_program() {
        const auto path = support::program_path();
        return path.substr(0, path.rfind('/'));
    }
    Launch launch(const Desk& desk) {
        auto with = at(*pty_, desk);
        with.environment = support::clean_environment(shared_redis().unix_url());
        for (const char* variable : {"PS1=ready> ", "TERM=dumb", "HISTFILE=", "PROMPT_COMMAND="})
            with.environment.emplace_back(variable);
        return with;
    }

    std::optional<Pty> pty_{std::in_place};
    Process bash_;
    std::size_t prompts_ = 0;
};

bool have_bash() {
    Process look({"sh", "-c", "command -v bash"});
    if (look.wait() == 0) return true;
    MESSAGE("no bash here");
    return false;
}

bool stops(pid_t pid) {
    return eventually([&] { return state_of(pid) == 'T'; });
}

bool goes_on(pid_t pid) {
    return eventually([&] { return state_of(pid) != 'T' && state_of(pid) != '\0'; });
}

pid_t warden_of(pid_t keeper) {
    REQUIRE(eventually([&] { return children_of(keeper).size() == 1; }));
    return children_of(keeper).front();
}

/// Writes a script `search` that becomes sandbox-lock, with a PATH as long as the kernel takes: the
/// search for the command goes on for a tenth of a second and more.
void write_search(const Desk& desk, const std::string& arguments) {
    std::string path;
    while (path.size() < 129000) path += "/-:";
    write_file(desk / "search",
               "PATH=" + path + "$PATH exec " + support::program_path() + " " + arguments + "\n");
}

}  // namespace

TEST_CASE(
    "Ctrl-C and Ctrl-\\ reach the command exactly once, and it keeps the slot if it goes on") {
    for (const auto& [key, name] :
         {std::pair{"\x03", "got INT."}, std::pair{"\x1c", "got QUIT."}}) {
        CAPTURE(name);
        Desk desk;
        Pty pty;
        auto run = sandbox_lock(shared_redis().unix_url(), {"agent:key", "--", "sh", "job"},
                                at(pty, desk));
        (void)desk.command();
        pty.type(key);
        CHECK(desk.logged(name));
        fence(desk, run.pid());
        CHECK(desk.times(name) == 1);
        CHECK_FALSE(run.ended());
        CHECK(held("agent:key"));
        desk.end();
        CHECK(run.wait() == 7);
        CHECK_FALSE(held("agent:key"));
    }
}

TEST_CASE("Ctrl-C ends a command that does not care for it, and the status says so") {
    Desk desk;
    Pty pty;
    auto run =
        sandbox_lock(shared_redis().unix_url(), {"agent:key", "--", "sh", "plain"}, at(pty, desk));
    (void)desk.command();
    pty.type(ctrl_c);
    CHECK(run.wait() == 130);
    CHECK_FALSE(held("agent:key"));
}

TEST_CASE("Ctrl-C while the slot is taken ends the wait") {
    Desk desk;
    Pty pty;
    shared_redis().command({"SET", support::key_of("agent:busy"), "foreign", "PX", "600000"});
    auto run =
        sandbox_lock(shared_redis().unix_url(),
                     {"--retry-interval=60s", "agent:busy", "--", "sh", "job"}, at(pty, desk));
    CHECK(pty.shows("waiting"));
    pty.type(ctrl_c);
    CHECK(run.wait() == 130);
    free("agent:busy");
}

TEST_CASE("a signal sent to the keeper by a process reaches a command at a terminal exactly once") {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGWINCH}) {
        const std::string name = std::string("got ") + sigabbrev_np(signal) + ".";
        CAPTURE(name);
        Desk desk;
        Pty pty;
        auto run = sandbox_lock(shared_redis().unix_url(), {"agent:one", "--", "sh", "job"},
                                at(pty, desk));
        (void)desk.command();
        run.signal(signal);
        CHECK(desk.logged(name));
        fence(desk, run.pid());
        CHECK(desk.times(name) == 1);
        desk.end();
        CHECK(run.wait() == 7);
    }
}

TEST_CASE("a command that signals its own process group gets the signal once") {
    Desk desk;
    Pty pty;
    write_file(desk / "zero", "trap 'echo got INT. >>log' INT; kill -INT 0; . ./job");
    auto run =
        sandbox_lock(shared_redis().unix_url(), {"agent:zero", "--", "sh", "zero"}, at(pty, desk));
    (void)desk.command();
    CHECK(desk.logged("got INT."));
    fence(desk, run.pid());
    CHECK(desk.times("got INT.") == 1);
    desk.end();
    CHECK(run.wait() == 7);
}

TEST_CASE("the command reads the terminal") {
    Desk desk;
    Pty pty;
    auto run = sandbox_lock(shared_redis().unix_url(), {"agent:cat", "--", "sh", "-c", "cat >read"},
                            at(pty, desk));
    pty.type("hello\n" + ctrl_d);
    CHECK(run.wait() == 0);
    CHECK(read_file(desk / "read") == "hello\n");
}

TEST_CASE("/dev/tty can be read while standard input is a pipe") {
    Desk desk;
    Pty pty;
    auto with = at(pty, desk);
    with.environment = support::clean_environment(shared_redis().unix_url());
    Process run(
        {"sh", "-c",
         "echo piped | \"$0\" agent:tty -- sh -c 'cat >from-pipe; head -1 </dev/tty >from-tty'",
         support::program_path()},
        with);
    pty.type("typed\n");
    CHECK(run.wait() == 0);
    CHECK(read_file(desk / "from-pipe") == "piped\n");
    CHECK(read_file(desk / "from-tty") == "typed\n");
}

TEST_CASE("the terminal's modes are as before after a command that does not change them") {
    Desk desk;
    Pty pty;
    const auto before = modes_of(pty);
    auto run = sandbox_lock(shared_redis().unix_url(), {"agent:modes", "--", "sh", "-c", "exit 3"},
                            at(pty, desk));
    CHECK(run.wait() == 3);
    CHECK(same_modes(modes_of(pty), before));
}

TEST_CASE("the modes that a command sets and leaves are its own business") {
    Desk desk;
    Pty pty;
    auto run = sandbox_lock(shared_redis().unix_url(), {"agent:modes", "--", "stty", "-echo"},
                            at(pty, desk));
    CHECK(run.wait() == 0);
    CHECK((modes_of(pty).c_lflag & ECHO) == 0);
}

TEST_CASE(
    "the terminal's modes are put back when the command is ended in raw mode for a lost lease") {
    for (const char* on_term : {"trap 'exit 1' TERM", "trap '' TERM"}) {
        CAPTURE(on_term);
        Desk desk;
        Pty pty;
        const auto before = modes_of(pty);
        auto run = sandbox_lock(shared_redis().unix_url(),
                                {"--lease-ttl=2s", "agent:raw", "--", "sh", "-c",
                                 std::string(on_term) + "; stty raw -echo; . ./plain"},
                                at(pty, desk));
        (void)desk.command();
        CHECK_FALSE(same_modes(modes_of(pty), before));
        take_away("agent:raw");
        CHECK(run.wait() == 79);
        free("agent:raw");
        CHECK(same_modes(modes_of(pty), before));
    }
}

TEST_CASE(
    "the foreground group is put back when a command with job control is killed for a lost lease") {
    if (!have_bash()) return;
    Desk desk;
    Pty pty;
    auto with = at(pty, desk);
    with.environment = support::clean_environment(shared_redis().unix_url());
    write_file(desk / "inner", "set -m; trap '' TERM HUP; sh plain");
    Process outer({"sh", "-c",
                   "\"$0\" --lease-ttl=2s agent:fg -- bash --norc -m inner; echo $? >status; "
                   "while [ ! -e stop ]; do sleep 0.01; done",
                   support::program_path()},
                  with);
    (void)desk.command();
    CHECK(eventually([&] { return foreground_group(outer.pid()) != outer.pid(); }));
    take_away("agent:fg");
    CHECK(eventually([&] { return read_file(desk / "status") == "79\n"; }));
    free("agent:fg");
    CHECK(foreground_group(outer.pid()) == outer.pid());
    write_file(desk / "stop", "");
    CHECK(outer.wait() == 0);
}

TEST_CASE("a new window size reaches the command once") {
    Desk desk;
    Pty pty;
    auto run =
        sandbox_lock(shared_redis().unix_url(), {"agent:size", "--", "sh", "job"}, at(pty, desk));
    (void)desk.command();
    const winsize size{33, 77, 0, 0};
    REQUIRE(ioctl(pty.slave(), TIOCSWINSZ, &size) == 0);
    CHECK(desk.logged("got WINCH."));
    fence(desk, run.pid());
    CHECK(desk.times("got WINCH.") == 1);
    desk.end();
    CHECK(run.wait() == 7);
}

TEST_CASE("when the terminal hangs up, the command ends and the slot is free") {
    SUBCASE("with the keeper as the session's leader") {
        Desk desk;
        std::optional<Pty> pty{std::in_place};
        auto run = sandbox_lock(shared_redis().unix_url(), {"agent:hup", "--", "sh", "plain"},
                                at(*pty, desk));
        const pid_t command = desk.command();
        pty.reset();
        CHECK(run.wait() == 129);
        CHECK_FALSE(alive(command));
        CHECK_FALSE(held("agent:hup"));
    }
    SUBCASE("with a job of an interactive shell") {
        if (!have_bash()) return;
        for (const bool stopped : {false, true}) {
            CAPTURE(stopped);
            Desk desk;
            Shell shell(desk);
            shell.type("sandbox-lock agent:hup -- sh plain");
            const pid_t command = desk.command();
            const pid_t keeper = shell.keeper();
            if (stopped) {
                shell.pty().type(ctrl_z);
                REQUIRE(shell.prompted());
                REQUIRE(stops(command));
            }
            shell.hang_up();
            CHECK(eventually([&] { return !alive(command) && !alive(keeper); }));
            CHECK(eventually([&] { return !held("agent:hup"); }));
        }
    }
}

TEST_CASE("Ctrl-Z stops the job, fg continues it, and it ends as it would without the lock") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shell.type("sandbox-lock agent:job -- sh job");
    const pid_t command = desk.command();
    const pid_t keeper = shell.keeper();
    for (int round = 0; round < 3; ++round) {
        shell.pty().type(ctrl_z);
        REQUIRE(shell.prompted());
        CHECK(shell.status() == 128 + SIGSTOP);
        CHECK(stops(command));
        CHECK(stops(keeper));
        CHECK(held("agent:job"));
        CHECK(foreground_group(shell.pid()) == shell.pid());
        shell.type("fg");
        CHECK(goes_on(command));
        CHECK(goes_on(keeper));
        CHECK(eventually([&] { return foreground_group(shell.pid()) == keeper; }));
    }
    desk.end();
    CHECK(shell.prompted());
    CHECK(shell.status() == 7);
    CHECK(foreground_group(shell.pid()) == shell.pid());
    CHECK_FALSE(held("agent:job"));
}

TEST_CASE("Ctrl-Z while the program is still looked for stops the job all the same") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    write_search(desk, "agent:search -- sh plain");
    shell.type("sh search");
    REQUIRE(eventually([&] { return held("agent:search"); }));
    shell.pty().type(ctrl_z);
    CHECK(shell.prompted());
    CHECK(shell.status() > 128);  // STOP, or TSTP where it came just before the start
    CHECK(held("agent:search"));
    shell.type("fg");
    (void)desk.command();
    desk.end();
    CHECK(shell.prompted());
    CHECK(shell.status() == 7);
    CHECK_FALSE(held("agent:search"));
}

TEST_CASE("Ctrl-Z before the keeper knows that the command runs stops it once") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    write_search(desk, "agent:early -- sh job");
    shell.type("sh search");
    REQUIRE(eventually([&] { return held("agent:early"); }));
    const pid_t keeper = shell.keeper();
    const pid_t warden = warden_of(keeper);
    // One child has made the command's group, the other looks for the program. The warden waits for
    // that in vfork(2), and stops before it can tell.
    REQUIRE(eventually([&] { return children_of(warden).size() == 2; }));
    kill(warden, SIGSTOP);
    const pid_t command = desk.command();
    shell.pty().type(ctrl_z);
    CHECK(stops(command));
    kill(warden, SIGCONT);
    REQUIRE(shell.prompted());
    CHECK(stops(keeper));
    shell.type("fg");
    CHECK(desk.logged("got CONT."));
    fence(desk, keeper);
    CHECK(desk.times("got CONT.") == 1);
    CHECK(goes_on(keeper));
    desk.end();
    CHECK(shell.prompted());
    CHECK(shell.status() == 7);
}

TEST_CASE("a continued job sees CONT once") {
    if (!have_bash()) return;
    for (const std::string how : {"fg", "bg"}) {
        CAPTURE(how);
        Desk desk;
        Shell shell(desk);
        shell.type("sandbox-lock agent:cont -- sh job");
        (void)desk.command();
        const pid_t keeper = shell.keeper();
        shell.pty().type(ctrl_z);
        REQUIRE(shell.prompted());
        shell.type(how);
        CHECK(desk.logged("got CONT."));
        fence(desk, keeper);
        CHECK(desk.times("got CONT.") == 1);
        desk.end();
        CHECK(eventually([&] { return !held("agent:cont"); }));
    }
}

TEST_CASE("Ctrl-Z right after fg stops the job again") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shell.type("sandbox-lock agent:again -- sh job");
    const pid_t command = desk.command();
    const pid_t keeper = shell.keeper();
    const pid_t warden = warden_of(keeper);
    shell.pty().type(ctrl_z);
    REQUIRE(shell.prompted());
    kill(warden, SIGSTOP);  // a slow one
    shell.type("fg");
    CHECK(desk.logged("got CONT."));
    shell.pty().type(ctrl_z);
    CHECK(stops(command));
    // The time in which the keeper wonders whether it has to pass CONT on.
    CHECK_FALSE(
        eventually([&] { return state_of(command) != 'T'; }, std::chrono::milliseconds{200}));
    kill(warden, SIGCONT);
    REQUIRE(shell.prompted());
    CHECK(stops(keeper));
    CHECK(stops(command));
    shell.type("fg");
    CHECK(goes_on(command));
    desk.end();
    CHECK(shell.prompted());
    CHECK(shell.status() == 7);
}

TEST_CASE("bg lets a stopped job go on in the background, fg brings it back, and Ctrl-C ends it") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shell.type("sandbox-lock agent:bg -- sh plain");
    const pid_t command = desk.command();
    const pid_t keeper = shell.keeper();
    shell.pty().type(ctrl_z);
    REQUIRE(shell.prompted());
    REQUIRE(stops(keeper));
    shell.run("bg");
    CHECK(goes_on(command));
    CHECK(goes_on(keeper));
    CHECK(foreground_group(shell.pid()) == shell.pid());
    shell.type("fg");
    CHECK(eventually([&] { return foreground_group(shell.pid()) == keeper; }));
    shell.pty().type(ctrl_c);
    CHECK(shell.prompted());
    CHECK(shell.status() == 130);
    CHECK_FALSE(held("agent:bg"));
}

TEST_CASE("a background job that reads the terminal stops, and reads on after fg") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shell.run("sandbox-lock agent:ttin -- sh -c 'head -1 >read; exit 7' &");
    const pid_t keeper = shell.keeper();
    CHECK(stops(keeper));
    shell.type("fg");
    CHECK(eventually([&] { return foreground_group(shell.pid()) == keeper; }));
    shell.pty().type("hello\n");
    CHECK(shell.prompted());
    CHECK(read_file(desk / "read") == "hello\n");
    CHECK(shell.status() == 7);
}

TEST_CASE("a command that stops its own group itself, as vim does on Ctrl-Z, can be continued") {
    if (!have_bash()) return;
    for (const char* signal : {"TSTP", "STOP"}) {
        CAPTURE(signal);
        Desk desk;
        Shell shell(desk);
        write_file(desk / "vim",
                   std::string("stty raw -echo\necho start. >>log\nstty sane\nkill -") + signal +
                       " 0\necho after. >>log\nexit 7\n");
        shell.type("sandbox-lock agent:vim -- sh vim");
        CHECK(desk.logged("start."));
        CHECK(shell.prompted());
        CHECK(desk.times("after.") == 0);
        shell.type("fg");
        CHECK(shell.prompted());
        CHECK(shell.status() == 7);
        CHECK(desk.times("after.") == 1);
    }
}

TEST_CASE("a command that stops itself alone stops the job") {
    if (!have_bash()) return;
    for (const char* signal : {"TSTP", "STOP"}) {
        CAPTURE(signal);
        Desk desk;
        Shell shell(desk);
        write_file(desk / "less", std::string("echo start. >>log\nkill -") + signal +
                                      " $$\necho after. >>log\nexit 7\n");
        shell.type("sandbox-lock agent:less -- sh less");
        CHECK(shell.prompted());
        CHECK(desk.times("after.") == 0);
        shell.type("fg");
        CHECK(shell.prompted());
        CHECK(shell.status() == 7);
        CHECK(desk.times("after.") == 1);
    }
}

TEST_CASE("Ctrl-Z does not stop a keeper whose command ignores it") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shell.type("sandbox-lock agent:deaf -- sh -c \"trap '' TSTP; . ./job\"");
    const pid_t command = desk.command();
    const pid_t keeper = shell.keeper();
    shell.pty().type(ctrl_z);
    fence(desk, keeper);
    CHECK(state_of(command) != 'T');
    CHECK(state_of(keeper) != 'T');
    desk.end();
    CHECK(shell.prompted());
    CHECK(shell.status() == 7);
}

TEST_CASE("Ctrl-Z and fg work while the slot is taken") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shared_redis().command({"SET", support::key_of("agent:busy"), "foreign", "PX", "600000"});
    shell.type("sandbox-lock --retry-interval=20ms agent:busy -- sh plain");
    CHECK(shell.pty().shows("waiting"));
    const pid_t keeper = shell.keeper();
    shell.pty().type(ctrl_z);
    CHECK(shell.prompted());
    CHECK(stops(keeper));
    free("agent:busy");
    shell.type("fg");
    (void)desk.command();
    desk.end();
    CHECK(shell.prompted());
    CHECK(shell.status() == 7);
}

TEST_CASE("a Ctrl-Z that the keeper has met while the slot was taken is not the command's") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shared_redis().command({"SET", support::key_of("agent:busy"), "foreign", "PX", "600000"});
    shell.type("sandbox-lock --retry-interval=20ms agent:busy -- sh job");
    CHECK(shell.pty().shows("waiting"));
    const pid_t keeper = shell.keeper();
    shell.pty().type(ctrl_z);
    CHECK(shell.prompted());
    CHECK(stops(keeper));
    kill(keeper, SIGCONT);  // it alone, unlike a shell
    free("agent:busy");
    fence(desk, keeper);
    CHECK(desk.log() == "got USR2.\n");
    desk.end();
    CHECK(eventually([&] { return !held("agent:busy"); }));
}

TEST_CASE("an interactive shell under the lock has job control of its own") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    write_file(desk / "inner", "exec env PS1='inner> ' bash --norc --noprofile --noediting -i\n");
    shell.type("sandbox-lock agent:inner -- sh inner");
    CHECK(shell.pty().shows("inner> "));
    CHECK(shell.pty().screen().find("no job control") == std::string::npos);
    shell.type("sh job");
    const pid_t command = desk.command();
    auto inner_prompts = count(shell.pty().screen(), "inner> ");
    shell.pty().type(ctrl_z);
    CHECK(eventually([&] { return count(shell.pty().screen(), "inner> ") > inner_prompts; }));
    CHECK(stops(command));
    shell.type("fg");
    CHECK(desk.logged("got CONT."));
    REQUIRE(support::rests_in_read(command));
    shell.pty().type(ctrl_c);
    CHECK(desk.logged("got INT."));
    CHECK(desk.times("got INT.") == 1);
    inner_prompts = count(shell.pty().screen(), "inner> ");
    desk.end();
    CHECK(eventually([&] { return count(shell.pty().screen(), "inner> ") > inner_prompts; }));
    CHECK(held("agent:inner"));
    shell.type("exit 4");
    CHECK(shell.prompted());
    CHECK(shell.status() == 4);
    CHECK(foreground_group(shell.pid()) == shell.pid());
    CHECK_FALSE(held("agent:inner"));
}

TEST_CASE("suspend in a shell under the lock stops the job, and fg continues it") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    write_file(desk / "inner", "exec env PS1='inner> ' bash --norc --noprofile --noediting -i\n");
    shell.type("sandbox-lock agent:inner -- sh inner");
    CHECK(shell.pty().shows("inner> "));
    const pid_t keeper = shell.keeper();
    const auto inner_prompts = count(shell.pty().screen(), "inner> ");
    shell.type("suspend");
    CHECK(shell.prompted());
    CHECK(stops(keeper));
    shell.type("fg");
    CHECK(eventually([&] { return count(shell.pty().screen(), "inner> ") > inner_prompts; }));
    CHECK(held("agent:inner"));
    shell.type("echo still there >log");
    CHECK(desk.logged("still there"));
    shell.type("exit 4");
    CHECK(shell.prompted());
    CHECK(shell.status() == 4);
}

TEST_CASE("a job left stopped past its lease is ended, and told so") {
    if (!have_bash()) return;
    Desk desk;
    Shell shell(desk);
    shell.type("sandbox-lock --lease-ttl=2s agent:late -- sh plain");
    const pid_t command = desk.command();
    const pid_t keeper = shell.keeper();
    shell.pty().type(ctrl_z);
    REQUIRE(shell.prompted());
    CHECK(stops(keeper));
    CHECK(eventually([&] { return !alive(command); }));
    CHECK(eventually([&] { return !held("agent:late"); }));
    // The keeper is continued to tell of it, at once and not only after fg.
    CHECK(shell.pty().shows("agent:late: the lease"));
    CHECK(eventually([&] { return !alive(keeper); }));
    shell.run("jobs");
    CHECK(shell.pty().shows("Exit 79"));
}
