// --container: nothing of a job runs in the container when the next one starts, however the job
// ends.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "containers/clients.hpp"

using namespace container_tests;
using namespace support;
using namespace std::chrono_literals;

namespace {

/// A job with a child in the background, one of another session and an orphan. It heeds TERM.
const std::string works =
    "setsid sleep 70001 & (sleep 70002 &); trap 'exit 9' TERM; echo ready; "
    "while :; do sleep 0.05; done";
/// The same; nobody in it heeds any signal.
const std::string deaf = "trap '' TERM INT HUP; " + works.substr(0, works.find("trap")) +
                         "echo ready; while :; do sleep 0.05; done";

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// How a job is brought to its end.
struct Ending {
    const char* name;
    std::function<void(Process& keeper)> happens;
    int status;
};

pid_t only_child_of(pid_t pid) {
    const auto below = children_of(pid);
    REQUIRE(below.size() == 1);
    return below.front();
}

/// The client among what the warden has started; its other children pass.
pid_t client_of(const Process& keeper) {
    const pid_t warden = only_child_of(keeper.pid());
    pid_t client = 0;
    REQUIRE(eventually([&] {
        const auto below = children_of(warden);
        if (below.size() == 1) client = below.front();
        return client != 0;
    }));
    return client;
}

std::vector<Ending> endings() {
    return {
        {"TERM", [](Process& keeper) { keeper.signal(SIGTERM); }, 9},
        {"KILL of the client", [](Process& keeper) { kill(client_of(keeper), SIGKILL); }, 137},
        {"KILL of the warden", [](Process& keeper) { kill(only_child_of(keeper.pid()), SIGKILL); },
         70},
        {"KILL of the keeper", [](Process& keeper) { keeper.signal(SIGKILL); }, 137},
        // It renews nothing, so that the lease ends.
        {"STOP of the keeper", [](Process& keeper) { keeper.signal(SIGSTOP); }, 79},
    };
}

Words with_container(const std::string& name, Words more = {}) {
    more.insert(more.begin(), {"--container", name, "--lease-ttl", "10s"});
    return more;
}

bool is_ready(const Process& job) {
    return eventually([&] { return has(job.out(), "ready"); });
}

/// What is next in the slot looks from inside for what is left of the former job.
const Words looks_inside{"ps", "-o", "pid,args"};

void check_nothing_left(const std::string& seen) {
    CAPTURE(seen);
    CHECK(has(seen, "ps -o"));
    CHECK_FALSE(has(seen, "7000"));
    CHECK_FALSE(has(seen, "ready"));
}

bool waits(const Process& next) {
    return eventually([&] { return has(next.err(), "waiting"); });
}

}  // namespace

TEST_CASE(
    "docker exec: whatever ends the job, nothing of it runs in the container when the next "
    "starts") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-work");
    const auto on_ending = [&](const Ending& ending, const std::string& script, int status) {
        CAPTURE(std::string(ending.name));
        auto job = locked(engine, "exec-work", box.exec({}, {"sh", "-c", script}),
                          with_container("exec-work", {"--kill-after", "1s"}));
        REQUIRE(is_ready(job));
        auto next =
            locked(engine, "exec-work", box.exec({}, looks_inside), {"--retry-interval", "50ms"});
        REQUIRE(waits(next));
        ending.happens(job);
        CHECK(next.wait(40s) == 0);
        job.signal(SIGCONT);
        CHECK(job.wait() == status);
        check_nothing_left(next.out());
    };
    for (const auto& ending : endings()) {
        on_ending(ending, works, ending.status);
        if (ending.status == 9) on_ending(ending, deaf, 137);
    }
}

TEST_CASE(
    "docker exec: what it has started is ended, and nothing else in the container is touched") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-others");
    Process other(box.exec({}, {"sh", "-c", works}), {.environment = engine.environment()});
    REQUIRE(is_ready(other));
    auto job = locked(engine, "exec-others", box.exec({"-u", "nobody"}, {"sh", "-c", deaf}),
                      with_container("exec-others", {"--kill-after", "200ms"}));
    REQUIRE(is_ready(job));
    job.signal(SIGTERM);
    CHECK(job.wait() == 137);
    CHECK_FALSE(other.ended());
    const auto left = engine.docker({"exec", "exec-others", "ps", "-o", "user,args"});
    CHECK(has(left, "sleep 70001"));
    CHECK_FALSE(std::regex_search(left, std::regex("nobody +sleep")));  // not counting zombies
}

TEST_CASE("docker exec: a command that ends by itself keeps what it left in the background") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-left");
    auto job = locked(engine, "exec-left",
                      box.exec({}, {"sh", "-c", "setsid sleep 70003 >/dev/null 2>&1 & exit 7"}),
                      with_container("exec-left"));
    CHECK(job.wait() == 7);
    CHECK(job.err() == "");
    CHECK(free("exec-left"));
    CHECK(has(engine.docker({"exec", "exec-left", "ps"}), "sleep 70003"));
}

TEST_CASE("docker exec: signals reach the job inside, not the client") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-signals");
    auto job =
        locked(engine, "exec-signals",
               box.exec({}, {"sh", "-c",
                             "trap 'echo usr1' USR1; trap 'echo bye; exit 6' INT; echo ready; "
                             "while :; do sleep 0.05; done"}),
               with_container("exec-signals"));
    REQUIRE(is_ready(job));
    job.signal(SIGUSR1);
    CHECK(eventually([&] { return has(job.out(), "usr1"); }));
    job.signal(SIGINT);
    CHECK(job.wait() == 6);
    CHECK(has(job.out(), "bye"));
    CHECK(job.err() == "");
    CHECK(free("exec-signals"));
}

TEST_CASE(
    "docker exec: where the engine's processes cannot be seen, a shell in the container helps") {
    if (geteuid() != 0) return;
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-unseen");
    Words words{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", program_path()};
    const Words options =
        with_container("exec-unseen", {"--kill-after", "200ms", "agent:unseen", "--"});
    words.insert(words.end(), options.begin(), options.end());
    // An exec for root and one for a user whose processes root may not look into there.
    for (const char* user : {"root", "nobody"}) {
        CAPTURE(std::string(user));
        const auto command = box.exec({}, {"su", user, "-c", deaf});
        Words whole = words;
        whole.insert(whole.end(), command.begin(), command.end());
        auto environment = clean_environment(shared_redis().unix_url());
        environment.insert(environment.end(), engine.environment().begin(),
                           engine.environment().end());
        Process job(whole, {.environment = environment});
        REQUIRE(is_ready(job));
        kill(only_child_of(job.pid()), SIGTERM);
        CHECK(job.wait() == 137);
        check_nothing_left(engine.docker({"exec", "exec-unseen", "ps", "-o", "pid,args"}));
        CHECK(free("unseen"));
    }
}

TEST_CASE("docker exec: a client that leaves its work behind does not count as a success") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-behind");
    const auto started = [&](const Words& options) {
        auto job = locked(engine, "exec-behind", box.exec({}, {"sh", "-c", works}),
                          with_container("exec-behind", options));
        REQUIRE(is_ready(job));
        return job;
    };
    const auto leaves_its_work = [&](const Words& options) {
        auto job = started(options);
        kill(client_of(job), SIGTERM);
        CHECK(job.wait() == 128 + SIGTERM);
        CHECK(has(job.err(), "had not ended with its client"));
        check_nothing_left(engine.docker({"exec", "exec-behind", "ps", "-o", "pid,args"}));
        return job.err();
    };
    SUBCASE("alone") {
        leaves_its_work({});
    }
    SUBCASE("and the cleanup command behind it fails") {
        const auto said = leaves_its_work({"--cleanup", "echo $SANDBOX_LOCK_STATUS >&2; false"});
        CHECK(has(said, "143\n"));
        CHECK(has(said, "cleanup command 1 ended with status 1"));
        CHECK_FALSE(free("exec-behind"));
        shared_redis().command({"DEL", key_of("agent:exec-behind")});
    }
    SUBCASE("and cannot be ended, for the container is paused") {
        auto job = started({"--cleanup-timeout", "1s", "--kill-after", "200ms"});
        engine.docker({"pause", "exec-behind"});
        kill(client_of(job), SIGTERM);
        CHECK(job.wait() == 128 + SIGTERM);
        CHECK(has(job.err(), "cannot be ended"));
        engine.docker({"unpause", "exec-behind"});
        shared_redis().command({"DEL", key_of("agent:exec-behind")});
    }
}

TEST_CASE(
    "docker exec: a container that is stopped or removed by somebody else takes its job with it") {
    DockerEngine& engine = shared_engine();
    for (const Words& how : {Words{"stop", "--time", "1"}, Words{"rm", "--force"}}) {
        const std::string name = "exec-" + how.front();  // it is free again only some time later
        const Running box(engine, name);
        auto job = locked(engine, name, box.exec({}, {"sh", "-c", works}), with_container(name));
        REQUIRE(is_ready(job));
        Words words = how;
        words.push_back(name);
        engine.docker(words);
        CHECK(job.wait() == 137);
        CHECK(free(name));
    }
}

TEST_CASE("docker exec: where the job cannot be ended, it is told and the slot stays closed") {
    DockerEngine& engine = shared_engine();
    const Running box(engine, "exec-paused");
    auto job =
        locked(engine, "exec-paused", box.exec({}, {"sh", "-c", works}),
               with_container("exec-paused", {"--cleanup-timeout", "1s", "--kill-after", "200ms"}));
    REQUIRE(is_ready(job));
    engine.docker({"pause", "exec-paused"});
    job.signal(SIGTERM);
    job.wait(20s);
    CHECK(has(job.err(),
              "container 'exec-paused': the command's processes in the container cannot be ended"));
    CHECK(has(job.err(), "the cleanup failed: the slot stays closed"));
    CHECK_FALSE(free("exec-paused"));
    engine.docker({"unpause", "exec-paused"});
    shared_redis().command({"DEL", key_of("agent:exec-paused")});
}

TEST_CASE("docker run: whatever ends the job, its container is gone when the next starts") {
    DockerEngine& engine = shared_engine();
    const auto on_ending = [&](const Ending& ending, const std::string& script, int status) {
        CAPTURE(std::string(ending.name));
        auto job = locked(engine, "run-work", engine.run({}, {"sh", "-c", script}),
                          with_container("run-work", {"--kill-after", "1s"}));
        REQUIRE(is_ready(job));
        auto next = locked(engine, "run-work",
                           {"docker", "ps", "--all", "--format", "{{.Names}} {{.Status}}",
                            "--filter", "name=run-work"},
                           {"--retry-interval", "50ms"});
        REQUIRE(waits(next));
        ending.happens(job);
        CHECK(next.wait(40s) == 0);
        job.signal(SIGCONT);
        CHECK(job.wait() == status);
        CHECK(next.out().empty());
    };
    for (const auto& ending : endings()) {
        on_ending(ending, works, ending.status);
        if (ending.status == 9) on_ending(ending, deaf, 137);
    }
}

TEST_CASE("docker run: stopped by somebody else, left by its client, or ended by itself") {
    DockerEngine& engine = shared_engine();
    SUBCASE("ended by itself") {
        auto job = locked(engine, "run-end", engine.run({}, {"sh", "-c", "exit 7"}),
                          with_container("run-end"));
        CHECK(job.wait() == 7);
        CHECK(job.err() == "");
    }
    SUBCASE("stopped by somebody else") {
        auto job = locked(engine, "run-end", engine.run({}, {"sh", "-c", works}),
                          with_container("run-end"));
        REQUIRE(is_ready(job));
        engine.docker({"stop", "run-end"});
        CHECK(job.wait() == 9);
    }
    SUBCASE("a name that is taken: the other container is left alone") {
        const Running other(engine, "run-end");
        auto job = locked(engine, "run-end", engine.run({}, {"true"}), with_container("run-end"));
        CHECK(job.wait() == 125);
        CHECK(free("run-end"));
        CHECK(has(engine.docker({"ps", "--filter", "name=run-end", "--format", "{{.Status}}"}),
                  "Up"));
    }
    CHECK(free("run-end"));
    CHECK_FALSE(engine.has("run-end"));
}
