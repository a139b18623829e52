#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

/// A TCP port whose host swallows connection attempts: its backlog is full, so SYNs are dropped.
class Swallower {
public:
    Swallower() : port_(free_port()) {
        address_.sin_family = AF_INET;
        address_.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port_)));
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listener_ = socket_for();
        bind(listener_.get(), name(), sizeof address_);
        listen(listener_.get(), 0);
        for (int i = 0; i < 4; ++i) {
            fillers_.push_back(socket_for());
            (void)connect(fillers_.back().get(), name(), sizeof address_);
        }
    }
    [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + port_; }

private:
    static guard::Descriptor socket_for() {
        return guard::Descriptor{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    }
    [[nodiscard]] const sockaddr* name() const {
        return reinterpret_cast<const sockaddr*>(&address_);
    }

    std::string port_;
    sockaddr_in address_{};
    guard::Descriptor listener_;
    std::vector<guard::Descriptor> fillers_;
};

/// Whether sandbox-lock has got so far that it waits in poll(2).
bool polls(const Process& process) {
    const auto call = read_file("/proc/" + std::to_string(process.pid()) + "/syscall");
    return call.starts_with("7 ") || call.starts_with("271 ");  // poll, ppoll on x86-64
}

}  // namespace

TEST_CASE("a taken slot: -n at once, -w after its time, with 75 or what -E says") {
    auto& redis = shared_redis();
    redis.command({"SET", key_of("agent:taken"), "foreign", "PX", "60000"});
    const auto status = [&](std::vector<std::string> options) {
        options.insert(options.end(), {"agent:taken", "--", "true"});
        auto run = sandbox_lock(redis.unix_url(), options);
        const int ended = run.wait();
        CHECK(run.err().find("not acquired") != std::string::npos);
        return ended;
    };
    CHECK(status({"-n"}) == 75);
    CHECK(status({"--nonblocking"}) == 75);
    CHECK(status({"-w", "0"}) == 75);
    CHECK(status({"--nb", "--conflict-exit-code", "255"}) == 255);
    const Stopwatch watch;
    CHECK(status({"--timeout", "0.3"}) == 75);
    CHECK(watch.seconds() >= 0.3);
    CHECK(status({"--wait=200ms", "-E9"}) == 9);
    redis.command({"DEL", key_of("agent:taken")});
}

TEST_CASE("with -E 0 a taken slot is no failure and nothing is told, for cron") {
    auto& redis = shared_redis();
    redis.command({"SET", key_of("agent:cron"), "foreign", "PX", "60000"});
    auto run = sandbox_lock(redis.unix_url(), {"-n", "-E", "0", "agent:cron", "--", "echo", "ran"});
    CHECK(run.wait() == 0);
    CHECK(run.out().empty());
    CHECK(run.err().empty());
    redis.command({"DEL", key_of("agent:cron")});
}

TEST_CASE("a slot that gets free within -w is entered, also by the last try") {
    auto& redis = shared_redis();
    redis.command({"SET", key_of("agent:soon"), "foreign", "PX", "300"});
    auto run = sandbox_lock(redis.unix_url(),
                            {"-w", "1", "--retry-interval", "1m", "agent:soon", "--", "true"});
    CHECK(run.wait() == 0);
}

TEST_CASE("a signal while waiting ends the wait with 128+N and leaves nothing in the store") {
    auto& redis = shared_redis();
    const auto key = key_of("agent:waited");
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1}) {
        redis.command({"SET", key, "foreign", "PX", "60000"});
        auto run = sandbox_lock(redis.unix_url(), {"agent:waited", "--", "echo", "ran"});
        REQUIRE(eventually([&] { return run.err().find("waiting") != std::string::npos; }));
        const Stopwatch watch;
        run.signal(signal);
        CHECK(run.wait() == 128 + signal);
        CHECK(watch.seconds() < 1);
        CHECK(run.out().empty());
        CHECK(redis.command({"GET", key}) == "foreign");
        redis.command({"DEL", key});
    }
}

TEST_CASE("a host that swallows packets: 69 within 6 s, and a signal ends it at once") {
    const Swallower host;
    SUBCASE("given up") {
        const Stopwatch watch;
        auto run = sandbox_lock(host.url(), {"agent:x", "--", "true"});
        CHECK(run.wait() == 69);
        CHECK(watch.seconds() < 6);
        CHECK(run.err().find(host.url()) != std::string::npos);
    }
    SUBCASE("interrupted") {
        for (const int signal : {SIGINT, SIGTERM}) {
            auto run = sandbox_lock(host.url(), {"agent:x", "--", "true"});
            REQUIRE(eventually([&] { return polls(run); }));
            const Stopwatch watch;
            run.signal(signal);
            CHECK(run.wait() == 128 + signal);
            CHECK(watch.seconds() < 1);
        }
    }
}

TEST_CASE(
    "a server that takes connections and answers nothing: 69 within 6 s, and leaves nothing "
    "behind") {
    RedisServer redis;
    redis.stop();
    SUBCASE("given up") {
        const Stopwatch watch;
        auto run = sandbox_lock(redis.url(), {"agent:mute", "--", "true"});
        CHECK(run.wait() == 69);
        CHECK(watch.seconds() < 6);
    }
    SUBCASE("interrupted") {
        auto run = sandbox_lock(redis.url(), {"agent:mute", "--", "true"});
        REQUIRE(eventually([&] { return polls(run); }));
        const Stopwatch watch;
        run.signal(SIGINT);
        CHECK(run.wait() == 130);
        CHECK(watch.seconds() < 1);
    }
    redis.resume();
    // The entry that it asked for is executed now, and the release behind it.
    REQUIRE(redis.command({"PING"}) == "PONG");
    CHECK(eventually([&] { return redis.command({"EXISTS", key_of("agent:mute")}) == "0"; }, 3s));
}

TEST_CASE("a name look-up that hangs: 69 in time, and a signal ends it at once") {
    if (geteuid() != 0) {
        MESSAGE("skipped: needs root to give a process a resolv.conf of its own");
        return;
    }
    // A name server that takes questions and never answers.
    const guard::Descriptor mute{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    address.sin_addr.s_addr = htonl(0x7f000035);  // 127.0.0.53 and the like are all loopback
    if (bind(mute.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        MESSAGE("skipped: somebody serves names on 127.0.0.53");
        return;
    }
    const TempDir dir;
    write_file(dir / "resolv.conf", "nameserver 127.0.0.53\noptions timeout:30 attempts:3\n");
    const std::string resolv = dir / "resolv.conf";
    const Launch launch{.before_exec = [&] {
        unshare(CLONE_NEWNS);
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
        if (mount(resolv.c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) != 0) _exit(99);
    }};
    SUBCASE("interrupted") {
        for (const int signal : {SIGINT, SIGTERM}) {
            auto run =
                sandbox_lock("redis://redis.example:6379", {"agent:x", "--", "true"}, launch);
            REQUIRE(eventually([&] { return polls(run); }));
            const Stopwatch watch;
            run.signal(signal);
            CHECK(run.wait() == 128 + signal);
            CHECK(watch.seconds() < 1);
        }
    }
    SUBCASE("given up") {
        const Stopwatch watch;
        auto run = sandbox_lock("redis://redis.example:6379", {"agent:x", "--", "true"}, launch);
        CHECK(run.wait() == 69);
        CHECK(watch.seconds() < 6);
        CHECK(run.err().find("redis.example") != std::string::npos);
    }
}

TEST_CASE("a name that cannot be looked up for want of getent is told with the ways out") {
    auto run = sandbox_lock("redis://redis.example:6379", {"agent:x", "--", "/bin/true"},
                            {.environment = {"PATH=/nonexistent"}});
    CHECK(run.wait() == 71);
    CHECK(run.err().find("cannot run getent") != std::string::npos);
    CHECK(run.err().find("use the host's address") != std::string::npos);
}

TEST_CASE("an IPv6 address needs no look-up, nor does its zone") {
    for (const std::string zone : {"lo", "1", "no-such-interface"}) {
        CAPTURE(zone);
        auto run = sandbox_lock("redis://[fe80::1%25" + zone + "]:" + free_port(),
                                {"-n", "--connect-timeout", "100ms", "agent:x", "--", "/bin/true"},
                                {.environment = {"PATH=/nonexistent"}});
        CHECK(run.wait() == 69);
        CHECK(run.err().find("[fe80::1%" + zone + "]") != std::string::npos);
    }
}

TEST_CASE("a store that goes away while we wait is waited for, and told once") {
    RedisServer redis;
    redis.command({"SET", key_of("agent:patient"), "foreign"});
    auto run = sandbox_lock(redis.unix_url(), {"agent:patient", "--", "echo", "in"});
    REQUIRE(eventually([&] { return run.err().find("waiting") != std::string::npos; }));
    redis.kill();
    REQUIRE(eventually([&] { return run.err().find("trying again") != std::string::npos; }));
    redis.start();
    CHECK(run.wait() == 0);
    CHECK(run.out() == "in\n");
    const auto err = run.err();
    CHECK(err.find("trying again") == err.rfind("trying again"));
}
