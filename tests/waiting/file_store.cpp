// The main job on file:, from outside: what the kernel's lock, flock(1) and other users make of it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "store/file/lock_file.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"

using namespace support;

namespace {

constexpr uid_t ordinary = 65534;  // nobody; no file is its own

/// A directory of locks of the test's own.
class Locks {
public:
    [[nodiscard]] std::string url() const { return "file:" + dir_ / "locks"; }
    [[nodiscard]] std::string path(const std::string& slot) const {
        return dir_ / "locks/" + store::file::file_name(key_of(slot));
    }
    Process run(const std::vector<std::string>& arguments, Launch launch = {}) const {
        return sandbox_lock(url(), arguments, std::move(launch));
    }
    /// A holder that has entered.
    Process holder(const std::string& slot) const {
        auto process = run({slot, "--", "sh", "-c", "echo in; exec sleep 1000"});
        REQUIRE(eventually([&] { return process.out() == "in\n"; }));
        return process;
    }
    [[nodiscard]] const TempDir& dir() const { return dir_; }

private:
    TempDir dir_;
};

bool is_waiting(const Process& process) {
    return process.err().find("waiting: held by") != std::string::npos;
}

/// In the child before its exec: a /run/lock and a /tmp of its own, with the given mode.
void own_run_lock(mode_t mode) {
    unshare(CLONE_NEWNS);
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    const auto options = "mode=" + std::to_string((mode >> 9 & 7) * 1000 + (mode >> 6 & 7) * 100 +
                                                  (mode >> 3 & 7) * 10 + (mode & 7));
    mkdir("/run/lock", 01777);
    if (mount("tmpfs", "/run/lock", "tmpfs", 0, options.c_str()) != 0) _exit(99);
}

/// A shell script as root with a /run/lock of its own; $L is the program, `$as_user` runs a command
/// as an ordinary user.
int default_directory_script(const std::string& script, mode_t mode = 01777,
                             std::string* output = nullptr) {
    // The program may be somewhere below /tmp, which some of these cover.
    const std::string head =
        "cp " + program_path() +
        " /run/lock/program && chmod 755 /run/lock/program\n"
        "as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'\n"
        "L='/run/lock/program --store file:'\nD=/run/lock/sandbox-lock\nset -e\n"
        "trap '[ -z \"$job\" ] || kill $job' EXIT\n";
    auto environment = clean_environment("");
    environment.insert(environment.end(), {"XDG_RUNTIME_DIR", "LOGNAME", "USER"});
    Process shell({"/bin/sh", "-c", head + script},
                  {.environment = environment, .before_exec = [mode] { own_run_lock(mode); }});
    const int status = shell.wait();
    INFO(shell.out(), shell.err());
    if (output != nullptr) *output = shell.out() + shell.err();
    return status;
}

bool is_root() {
    if (geteuid() == 0) return true;
    MESSAGE("skipped: needs root to be several users");
    return false;
}

}  // namespace

TEST_CASE("file: flock(1) on the slot's file and sandbox-lock exclude each other") {
    const Locks locks;
    {
        auto holder = locks.holder("agent:both");
        Process flock({"flock", "-n", locks.path("agent:both"), "true"});
        CHECK(flock.wait() == 1);
        Process waiting({"flock", locks.path("agent:both"), "echo", "in"});
        holder.signal(SIGTERM);
        CHECK(holder.wait() == 143);
        CHECK(waiting.wait() == 0);
    }
    Process flock({"flock", locks.path("agent:both"), "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return flock.out() == "in\n"; }));
    auto refused = locks.run({"-n", "agent:both", "--", "true"});
    CHECK(refused.wait() == 75);
    // The card of the one who was there before does not count.
    CHECK(refused.err().find("held by flock (") != std::string::npos);
    CHECK(refused.err().find("pid " + std::to_string(flock.pid())) != std::string::npos);
    auto waiter = locks.run({"agent:both", "--", "echo", "in"});
    REQUIRE(eventually([&] { return is_waiting(waiter); }));
    CHECK(waiter.out().empty());
    for (const pid_t child : children_of(flock.pid())) kill(child, SIGKILL);
    CHECK(waiter.wait() == 0);
    CHECK(waiter.out() == "in\n");
}

TEST_CASE("file: what the command leaves in the background does not keep the slot") {
    const Locks locks;
    auto run = locks.run(
        {"agent:daemon", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"});
    REQUIRE(run.wait() == 0);
    const auto left = pids_in(run.out());
    REQUIRE(left.size() == 1);
    CHECK(alive(left.front()));
    CHECK(locks.run({"-n", "agent:daemon", "--", "true"}).wait() == 0);
    kill(left.front(), SIGKILL);
}

TEST_CASE("file: the command inherits no descriptor of the lock") {
    const Locks locks;
    auto run = locks.run({"agent:fds", "--", "sh", "-c", "ls -l /proc/self/fd"});
    CHECK(run.wait() == 0);
    CHECK(run.out().find("locks") == std::string::npos);
}

TEST_CASE("file: after KILL of the keeper the slot is free when the tree is gone, not before") {
    const Locks locks;
    const std::string log = locks.dir() / "log";
    // It takes its time to end, and a child of it that ignores TERM has to be killed.
    auto run =
        locks.run({"--kill-after", "1s", "agent:killed", "--", "sh", "-c",
                   "trap 'sleep 0.3; echo end >> " + log +
                       "; exit' TERM; "
                       "(trap '' TERM; exec sleep 1000) & echo in $!; while :; do wait; done"});
    REQUIRE(eventually([&] { return run.out().starts_with("in"); }));
    const auto stubborn = pids_in(run.out().substr(3));
    REQUIRE(stubborn.size() == 1);
    auto next = locks.run({"agent:killed", "--", "sh", "-c",
                           "echo next >> " + log + "; kill -0 " + std::to_string(stubborn.front()) +
                               " 2>/dev/null && echo alive"});
    REQUIRE(eventually([&] { return is_waiting(next); }));
    run.signal(SIGKILL);
    CHECK(run.wait() == 137);
    next.wait();
    CHECK(next.out().empty());
    CHECK(read_file(log) == "end\nnext\n");
}

TEST_CASE("file: after KILL of the warden the keeper ends the tree, and then the slot is free") {
    const Locks locks;
    auto run = locks.holder("agent:warden");
    const auto warden = children_of(run.pid());
    REQUIRE(warden.size() == 1);
    auto next = locks.run({"agent:warden", "--", "echo", "next"});
    REQUIRE(eventually([&] { return is_waiting(next); }));
    kill(warden.front(), SIGKILL);
    CHECK(run.wait() == 70);
    CHECK(next.wait() == 0);
}

TEST_CASE("file: signals and -w end the wait at once, also one for a lock of flock(1)") {
    const Locks locks;
    auto holder = locks.holder("agent:wait");
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
        auto waiter = locks.run({"agent:wait", "--", "echo", "ran"});
        REQUIRE(eventually([&] { return is_waiting(waiter); }));
        const Stopwatch watch;
        waiter.signal(signal);
        CHECK(waiter.wait() == 128 + signal);
        CHECK(watch.seconds() < 1);
        CHECK(waiter.out().empty());
    }
    const Stopwatch watch;
    CHECK(locks.run({"-w", "0.3", "-E", "9", "agent:wait", "--", "true"}).wait() == 9);
    CHECK(watch.seconds() >= 0.3);
    CHECK(watch.seconds() < 2);
    holder.signal(SIGTERM);
    CHECK(holder.wait() == 143);
    CHECK(locks.run({"-n", "agent:wait", "--", "true"}).wait() == 0);
}

TEST_CASE("file: a waiter that is killed is no obstacle") {
    const Locks locks;
    auto holder = locks.holder("agent:dead-waiter");
    auto dead = locks.run({"agent:dead-waiter", "--", "true"});
    auto next = locks.run({"agent:dead-waiter", "--", "echo", "in"});
    REQUIRE(eventually([&] { return is_waiting(dead) && is_waiting(next); }));
    dead.signal(SIGKILL);
    CHECK(dead.wait() == 137);
    holder.signal(SIGTERM);
    CHECK(next.wait() == 0);
}

TEST_CASE("file: a file that is removed or replaced while it is held costs the lease") {
    const Locks locks;
    auto holder = locks.holder("agent:removed");
    SUBCASE("removed") {
        unlink(locks.path("agent:removed").c_str());
    }
    SUBCASE("replaced") {
        write_file(locks.dir() / "other", "");
        rename((locks.dir() / "other").c_str(), locks.path("agent:removed").c_str());
    }
    CHECK(holder.wait() == 79);
    CHECK(holder.err().find("the lease is lost") != std::string::npos);
}

TEST_CASE("file: a waiter whose file was removed meanwhile enters by the new one") {
    const Locks locks;
    auto holder = locks.holder("agent:renamed");
    auto waiter = locks.run({"agent:renamed", "--", "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return is_waiting(waiter); }));
    unlink(locks.path("agent:renamed").c_str());
    CHECK(holder.wait() == 79);
    REQUIRE(eventually([&] { return waiter.out() == "in\n"; }));
    CHECK(locks.run({"-n", "agent:renamed", "--", "true"}).wait() == 75);
    CHECK(access(locks.path("agent:renamed").c_str(), F_OK) == 0);
}

TEST_CASE("file: a nested call passes straight through; a token of yesterday opens nothing") {
    const Locks locks;
    const std::string inner = program_path() + " agent:nested -- sh -c 'echo inner; exit 3'";
    auto outer = locks.run({"agent:nested", "--", "sh", "-c", inner});
    CHECK(outer.wait() == 3);
    CHECK(outer.out() == "inner\n");

    auto first = locks.run({"agent:nested", "--", "sh", "-c", "echo $SANDBOX_LOCK_TOKEN"});
    REQUIRE(first.wait() == 0);
    Process flock({"flock", locks.path("agent:nested"), "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return flock.out() == "in\n"; }));
    const auto token = first.out().substr(0, first.out().size() - 1);
    auto stale = locks.run({"-n", "agent:nested", "--", "true"},
                           {.environment = {"SANDBOX_LOCK_KEY=" + key_of("agent:nested"),
                                            "SANDBOX_LOCK_TOKEN=" + token}});
    CHECK(stale.wait() == 75);
    for (const pid_t child : children_of(flock.pid())) kill(child, SIGKILL);
}

TEST_CASE("file: settings that have no effect there are told, with where they stand") {
    const Locks locks;
    auto run = locks.run({"--lease-ttl", "10s", "agent:told", "--", "true"},
                         {.environment = {"SANDBOX_LOCK_NO_RENEW=true"}});
    CHECK(run.wait() == 0);
    CHECK(run.err().find("--lease-ttl has no effect") != std::string::npos);
    CHECK(run.err().find("SANDBOX_LOCK_NO_RENEW has no effect") != std::string::npos);
    auto silent = locks.run({"agent:told", "--", "true"});
    CHECK(silent.wait() == 0);
    CHECK(silent.err().empty());
}

TEST_CASE("file: a command that had to be killed leaves a free slot, and a warning") {
    const Locks locks;
    auto run = locks.run({"--kill-after", "100ms", "agent:stubborn", "--", "sh", "-c",
                          "trap '' TERM; echo in; while :; do sleep 1; done"});
    REQUIRE(eventually([&] { return run.out() == "in\n"; }));
    const auto warden = children_of(run.pid());
    REQUIRE(warden.size() == 1);
    kill(warden.front(), SIGKILL);
    CHECK(run.wait() == 70);
    CHECK(run.err().find("may go on") != std::string::npos);
    CHECK(locks.run({"-n", "agent:stubborn", "--", "true"}).wait() == 0);
}

TEST_CASE("file: the cases of flock(1)'s own tests, by a wrapper that is called like it") {
    const Locks locks;
    // What flock calls a file is a key here; its conflict status is 1.
    write_file(locks.dir() / "flock",
               "#!/bin/sh\nexec " + program_path() + " --store " + locks.url() + " -E 1 \"$@\"\n");
    chmod((locks.dir() / "flock").c_str(), 0755);
    const auto wrapper = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), locks.dir() / "flock");
        return Process(arguments, {.environment = clean_environment("")});
    };
    const Stopwatch watch;
    auto general = wrapper({"global:f", "bash", "-c", "echo Locking; sleep 1.5; echo Unlocking"});
    REQUIRE(eventually([&] { return general.out() == "Locking\n"; }));

    auto conflict = wrapper({"--nonblock", "--conflict-exit-code", "123", "global:f", "echo", "x"});
    CHECK(conflict.wait() == 123);
    CHECK(conflict.out().empty());
    auto exclusive = wrapper(
        {"--nonblock", "--exclusive", "--conflict-exit-code", "123", "global:f", "echo", "x"});
    CHECK(exclusive.wait() == 123);
    CHECK(wrapper({"-n", "global:f", "echo", "x"}).wait() == 1);
    CHECK(wrapper({"-n", "-E", "0", "global:f", "echo", "x"}).wait() == 0);
    CHECK(wrapper({"-w", "0.2", "-E", "7", "global:f", "true"}).wait() == 7);
    CHECK(wrapper({"-E", "300", "global:f", "true"}).wait() == 64);
    auto timely =
        wrapper({"--timeout", "60", "--conflict-exit-code", "5", "global:f", "echo", "in time"});
    CHECK(timely.wait() == 0);
    CHECK(timely.out() == "in time\n");
    CHECK(watch.seconds() >= 1.5);
    CHECK(watch.seconds() < 20);
    CHECK(general.wait() == 0);
    CHECK(general.out() == "Locking\nUnlocking\n");
    CHECK(wrapper({"global:f", "-c", "exit 9"}).wait() == 9);
}

TEST_CASE("file: where flock(2) fails, the error names directory and file system type") {
    const Locks locks;
    auto run = locks.run({"agent:x", "--", "true"}, {.before_exec = [] {
                             sock_filter steps[] = {
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                             };
                             const sock_fprog filter{sizeof steps / sizeof *steps, steps};
                             prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                             if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
                                 _exit(99);
                         }});
    CHECK(run.wait() == 69);
    CHECK(run.err().find(locks.dir() / "locks") != std::string::npos);
    CHECK(run.err().find("file system of type ") != std::string::npos);
    CHECK(run.err().find("unknown") == std::string::npos);
}

TEST_CASE("file: a full disk is told, and the slot is not kept by that") {
    if (!is_root()) return;
    std::string output;
    CHECK(default_directory_script("mkdir $D; mount -t tmpfs -o size=4k,mode=1777 none $D\n"
                                   "head -c 4096 /dev/zero >$D/full\n"
                                   "$L agent:x -- echo ran && exit 1 || [ $? = 69 ]\n"
                                   "rm $D/full\n"
                                   "$L -n agent:x -- true\n",
                                   01777, &output) == 0);
    CAPTURE(output);
    CHECK(output.find("cannot write lock file") != std::string::npos);
    CHECK(output.find("No space left") != std::string::npos);
    CHECK(output.find("ran") == std::string::npos);
}

TEST_CASE("file: a directory that a user may not use is a refusal, and doctor says who may") {
    if (!is_root()) return;
    const auto in_directory = [](const std::string& script) {
        std::string output;
        const std::string head = "mkdir $D; L='/run/lock/program'; S=--store=file:$D\n";
        CHECK(default_directory_script(head + script, 01777, &output) == 0);
        return output;
    };
    const auto refused = [&](const std::string& before, const std::string& says) {
        const auto output =
            in_directory(before +
                         "\n$as_user $L $S agent:x -- echo ran && exit 1 || [ $? = 77 ]\n"
                         "$as_user $L doctor $S && exit 1 || [ $? = 2 ]\n");
        CAPTURE(output);
        CHECK(output.find(says) != std::string::npos);
        CHECK(output.find("FAIL ") != std::string::npos);
        CHECK(output.find("ran") == std::string::npos);
    };
    refused("chmod 755 $D", "cannot open lock file");
    refused("chmod 700 $D", "cannot read lock directory");
    refused("chmod 700 $D; S=$S/sub", "cannot open lock directory");
    refused("chmod 755 $D; S=$S/sub", "cannot make lock directory");

    CHECK(in_directory("chmod 770 $D; $L doctor $S").find("user 0 and group 0 alone") !=
          std::string::npos);
    CHECK(in_directory("chmod 755 /run/lock; export XDG_RUNTIME_DIR=$D; chmod 700 $D\n"
                       "$L doctor --store=file: && exit 1 || [ $? = 1 ]\n")
              .find("WARN users") != std::string::npos);
}

TEST_CASE("file: a lock that flock(1) took for a shell is waited for, though flock has ended") {
    const Locks locks;
    REQUIRE(locks.run({"agent:x", "--", "true"}).wait() == 0);
    const Process shell({"sh", "-c", "exec 9>>\"$1\"; flock 9; echo in; exec sleep 1000", "sh",
                         locks.path("agent:x")});
    REQUIRE(eventually([&] { return shell.out() == "in\n"; }));
    auto refused = locks.run({"-n", "agent:x", "--", "true"});
    CHECK(refused.wait() == 75);
    // In a PID namespace of its own, /proc/locks does not have the lock any more.
    const auto err = refused.err();
    CHECK((err.find("held by a process that has ended") != std::string::npos ||
           err.find("held by another process") != std::string::npos));
}

TEST_CASE("file: whatever was planted in a file's place is refused, and what it leads to is kept") {
    const Locks locks;
    REQUIRE(locks.run({"agent:first", "--", "true"}).wait() == 0);
    const auto path = locks.path("agent:x");
    const std::string victim = locks.dir() / "victim";
    write_file(victim, "precious\n");
    SUBCASE("symbolic link") {
        REQUIRE(symlink(victim.c_str(), path.c_str()) == 0);
    }
    SUBCASE("symbolic link to nothing") {
        REQUIRE(symlink((victim + "-new").c_str(), path.c_str()) == 0);
    }
    SUBCASE("hard link") {
        REQUIRE(link(victim.c_str(), path.c_str()) == 0);
    }
    SUBCASE("pipe") {
        REQUIRE(mkfifo(path.c_str(), 0666) == 0);
    }
    SUBCASE("directory") {
        REQUIRE(mkdir(path.c_str(), 0777) == 0);
    }
    auto run = locks.run({"agent:x", "--", "echo", "ran"});
    const int status = run.wait();
    CHECK((status == 78 || status == 69));
    CHECK(run.out().empty());
    CHECK(run.err().find(path) != std::string::npos);
    CHECK(read_file(victim) == "precious\n");
    CHECK(access((victim + "-new").c_str(), F_OK) != 0);
}

TEST_CASE("file: root and an ordinary user exclude each other in the default directory") {
    if (!is_root()) return;
    SUBCASE("root comes first") {
        CHECK(default_directory_script(
                  "$L agent:x -- sh -c ': >/run/lock/in; exec sleep 1000' & job=$!\n"
                  "until [ -e /run/lock/in ]; do sleep 0.01; done\n"
                  "$as_user $L -n -E 33 agent:x -- true && exit 1 || [ $? = 33 ]\n"
                  "kill $job; wait $job || job=\n"
                  "$as_user $L -n agent:x -- true\n"
                  "[ \"$(stat -c '%u %a' $D)\" = '0 1777' ]\n"
                  "[ \"$(stat -c '%u %a' $D/*)\" = '0 666' ]\n") == 0);
    }
    SUBCASE("the ordinary user comes first") {
        CHECK(default_directory_script(
                  "$as_user $L agent:x -- sh -c ': >/run/lock/in; exec sleep 1000' & job=$!\n"
                  "until [ -e /run/lock/in ]; do sleep 0.01; done\n"
                  "[ \"$(stat -c '%u %a' $D)\" = '65534 1777' ]\n"
                  "$L -n -E 33 agent:x -- true && exit 1 || [ $? = 33 ]\n"
                  "[ \"$(stat -c '%u %a' $D)\" = '0 1777' ]\n"
                  "kill $job; wait $job || job=\n"
                  "$L -n agent:x -- true\n"
                  "$as_user $L -n agent:x -- true\n") == 0);
    }
}

TEST_CASE("file: a default directory that an ordinary user has prepared is refused") {
    if (!is_root()) return;
    const auto prepared = [](const std::string& how, int status) {
        CAPTURE(how);
        std::string output;
        CHECK(default_directory_script(how + "\n$L agent:x -- echo ran", 01777, &output) == status);
        CHECK(output.find("ran") == std::string::npos);
        CHECK(output.find("/run/lock/sandbox-lock") != std::string::npos);
    };
    prepared("$as_user mkdir -m 755 $D", 78);
    prepared("$as_user mkdir -m 777 $D", 78);
    prepared("mkdir -m 1777 /run/lock/other; $as_user ln -s other $D", 78);
    prepared("$as_user ln -s /etc $D; set +e", 78);
    prepared("$as_user touch $D", 78);
    // Another ordinary user does not trust it, whatever its mode.
    prepared(
        "$as_user mkdir -m 1777 $D; exec setpriv --reuid=1234 --regid=1234 --clear-groups $L "
        "agent:x -- echo ran",
        78);
}

TEST_CASE("file: without a /run/lock for all, each user has a directory of their own") {
    if (!is_root()) return;
    CHECK(default_directory_script(
              "export XDG_RUNTIME_DIR=/run/lock/own; mkdir -m 700 $XDG_RUNTIME_DIR\n"
              "$L agent:x -- true\n"
              "[ \"$(stat -c '%u %a' $XDG_RUNTIME_DIR/sandbox-lock)\" = '0 700' ]\n"
              "[ ! -e $D ]\n",
              0755) == 0);
    CHECK(default_directory_script(
              "mount -t tmpfs none /tmp\n"
              "export XDG_RUNTIME_DIR=/run/lock/own\n"
              "$as_user true; mkdir $XDG_RUNTIME_DIR\n"
              "chmod 1777 /tmp; $as_user $L agent:x -- true\n"
              "[ \"$(stat -c '%u %a' /tmp/sandbox-lock-65534)\" = '65534 700' ]\n"
              "[ ! -e $D ]\n",
              0755) == 0);
    std::string output;
    CHECK(default_directory_script("mount -t tmpfs none /tmp\nchmod 1777 /tmp\n"
                                   "mkdir /tmp/sandbox-lock-65534\n"
                                   "$as_user $L agent:x -- echo ran\n",
                                   0755, &output) == 78);
    CHECK(output.find("/tmp/sandbox-lock-65534") != std::string::npos);
}

TEST_CASE("file: of links in a named directory's place only root's and one's own are followed") {
    if (!is_root()) return;
    const TempDir dir;
    REQUIRE(mkdir((dir / "real").c_str(), 0755) == 0);
    REQUIRE(symlink("real", (dir / "link").c_str()) == 0);
    const auto run = [&] {
        return sandbox_lock("file:" + dir / "link/", {"agent:x", "--", "true"}).wait();
    };
    CHECK(run() == 0);
    REQUIRE(lchown((dir / "link").c_str(), ordinary, ordinary) == 0);
    CHECK(run() == 78);
}
