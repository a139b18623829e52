// The recipes for containers in the manual page.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <regex>
#include <string>
#include <vector>

#include "support/docker_engine.hpp"
#include "support/github_runner.hpp"
#include "support/program.hpp"
#include "support/recipes.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

using Words = std::vector<std::string>;

/// A shell command in the place of `make test`, which says when it is at work.
std::string job(const std::string& commands) {
    return "sh -c '" + commands + "'";
}
const std::string deaf = job(
    R"(trap "" HUP INT QUIT TERM; (setsid sleep 1000 &); echo ready; while :; do sleep 0.1; done)");
const std::string fails = job("echo ready; exit 7");

std::string unique(const std::string& name) {
    return "sandbox-lock-test-" + name + "-" + std::to_string(getpid());
}

bool is_free() {
    return !shared_redis().command({"GET", key_of("agent:code-agent")});
}

/// A place with the store and an engine.
class Site {
public:
    explicit Site(DockerEngine& engine) : place_(shared_redis().unix_url(), engine.environment()) {}

    [[nodiscard]] const Workplace& place() const { return place_; }
    /// The recipe as a script of its own.
    [[nodiscard]] Process start(const std::string& recipe) const {
        return place_.start({"sh", "-c", recipe});
    }
    /// The recipe as a step of a workflow.
    [[nodiscard]] GithubStep step(const std::string& recipe) const {
        return {place_, std::regex_replace(recipe, std::regex{"(^|\n)sandbox-lock"},
                                           "$1exec sandbox-lock")};
    }
    /// Who waits for the slot and then looks by `command`.
    [[nodiscard]] Process next(const Words& command) const {
        Words words{"sandbox-lock", "agent:code-agent", "--"};
        words.insert(words.end(), command.begin(), command.end());
        auto process = place_.start(words);
        REQUIRE(eventually([&] { return process.err().find("waiting") != std::string::npos; }));
        return process;
    }
    /// Kills the engine's client that runs the work.
    void kill_client(const std::string& name) const {
        for (const pid_t pid : place_.running())
            if (read_file("/proc/" + std::to_string(pid) + "/comm") == name + "\n")
                kill(pid, SIGKILL);
    }

private:
    Workplace place_;
};

bool is_ready(const Process& run) {
    return eventually([&] { return run.out().find("ready") != std::string::npos; }, 2 * patience);
}

/// Whether a step was over in time: before the runner's KILL, if the machine is busy. It takes five
/// seconds and what the engine needs; TERM comes after seven and a half.
bool is_early(int last_signal) {
    return last_signal == SIGINT || last_signal == SIGTERM;
}

/// Runs a shell command with the engine at its end.
class Afterwards {
public:
    Afterwards(const DockerEngine& engine, std::string command)
        : engine_(engine), command_(std::move(command)) {}
    ~Afterwards() {
        Process clean({"sh", "-c", command_}, {.environment = engine_.environment()});
        eventually([&] { return clean.ended(); });
    }
    Afterwards(const Afterwards&) = delete;
    Afterwards& operator=(const Afterwards&) = delete;

private:
    const DockerEngine& engine_;
    std::string command_;
};

/// The image, after the options that a container of a test has.
std::string image_of(const DockerEngine& engine) {
    std::string words;
    for (const auto& word : engine.run({}, {})) words += word + " ";
    return words.substr(std::string("docker run --rm ").size());
}

}  // namespace

TEST_CASE("recipe for docker run: the container is gone when the next one enters") {
    DockerEngine& engine = shared_engine();
    const auto box = unique("run");
    const Afterwards clean(engine, "docker rm --force " + box);
    const Site site(engine);
    const auto lines = [&](const std::string& work) {
        return recipe(
            "A new container: docker run",
            {{" box ", " " + box + " "}, {"sbx ", image_of(engine)}, {"make test", work}});
    };
    const Words look{"docker", "ps", "--all", "--quiet", "--filter", "name=" + box};
    SUBCASE("the work ends by itself") {
        auto run = site.start(lines(fails));
        CHECK(run.wait() == 7);
        CHECK(run.err().empty());
        CHECK_FALSE(engine.has(box));
        CHECK(is_free());
    }
    SUBCASE("it heeds nothing, and the step of a workflow is cancelled") {
        auto step = site.step(lines(deaf));
        REQUIRE(is_ready(step.process()));
        auto next = site.next(look);
        CHECK(is_early(step.cancel()));
        CHECK(next.wait(3 * patience) == 0);
        CHECK(next.out().empty());
    }
    SUBCASE("its client is killed") {
        auto run = site.start(lines(deaf));
        REQUIRE(is_ready(run));
        auto next = site.next(look);
        site.kill_client("docker");
        CHECK(run.wait() != 0);
        CHECK(next.wait(3 * patience) == 0);
        CHECK(next.out().empty());
    }
}

TEST_CASE("recipe for docker exec: nothing of it is left in the container") {
    DockerEngine& engine = shared_engine();
    const auto box = unique("exec");
    const Afterwards clean(engine, "docker rm --force " + box);
    const auto words = engine.run({"--detach", "--name", box}, {"sleep", "100000"});
    engine.docker({words.begin() + 1, words.end()});
    const Site site(engine);
    const auto lines = [&](const std::string& work) {
        return recipe("A running container: docker exec",
                      {{" box ", " " + box + " "}, {"make test", work}});
    };
    const Words look{"docker", "exec", box, "ps", "-o", "args"};
    const auto sees_only_the_container = [&](Process& next) {
        CHECK(next.wait(3 * patience) == 0);
        // Its first process reaps nobody: zombies are shown in brackets.
        const auto alive = std::regex_replace(next.out(), std::regex{"\\[.*\\]\n"}, "");
        CHECK(alive == "COMMAND\nsleep 100000\nps -o args\n");
    };
    SUBCASE("the work ends by itself") {
        auto run = site.start(lines(fails));
        CHECK(run.wait() == 7);
        CHECK(run.err().empty());
        CHECK(is_free());
    }
    SUBCASE("it heeds nothing, and the step of a workflow is cancelled") {
        auto step = site.step(lines(deaf));
        REQUIRE(is_ready(step.process()));
        auto next = site.next(look);
        CHECK(is_early(step.cancel()));
        sees_only_the_container(next);
    }
    SUBCASE("its client is killed") {
        auto run = site.start(lines(deaf));
        REQUIRE(is_ready(run));
        auto next = site.next(look);
        site.kill_client("docker");
        CHECK(run.wait() != 0);
        sees_only_the_container(next);
    }
}

namespace {

/// The command for compose, or none where it is not installed.
std::string compose(const Site& site) {
    if (site.start("docker compose version").wait(2 * patience) == 0) return "docker compose";
    if (site.start("docker-compose version").wait(2 * patience) == 0) return "docker-compose";
    return "";
}

std::string composition(const std::string& image) {
    const auto service = [&](const std::string& name, const std::string& more) {
        return "  " + name + ": {image: '" + image + "', network_mode: none, " + more + "}\n";
    };
    return "services:\n" + service("job", "depends_on: [db]") +
           service("db", "command: [sh, -c, 'trap exit TERM; while :; do sleep 0.1; done']");
}

}  // namespace

TEST_CASE("recipe for docker compose: the project's containers are gone when the next one enters") {
    DockerEngine& engine = shared_engine();
    const Site site(engine);
    const auto client = compose(site);
    if (client.empty()) {
        MESSAGE("no docker compose here");
        return;
    }
    CAPTURE(client);
    const auto project = unique("compose");
    const auto label = "label=com.docker.compose.project=" + project;
    const Afterwards clean(engine, "docker ps -aq --filter " + label + " | xargs -r docker rm -f");
    write_file(site.place() / "docker-compose.yml", composition(engine.image()));
    const auto lines = [&](const std::string& work) {
        return recipe(
            "A service of a project: docker compose run",
            {{"PROJECT_NAME=code-agent", "PROJECT_NAME=" + project},
             {"docker compose", client},
             {"run --rm job", client == "docker compose" ? "run --rm job" : "run --rm -T job"},
             {"make test", work}});
    };
    const Words look{"docker", "ps", "--all", "--filter", label, "--format", "{{.Names}}"};
    const auto sees_nothing = [&](Process& next) {
        CHECK(next.wait(3 * patience) == 0);
        CHECK(next.out().empty());
    };
    SUBCASE("the work ends by itself") {
        auto run = site.start(lines(fails));
        CHECK(run.wait(2 * patience) == 7);
        CHECK(engine.docker({look.begin() + 1, look.end()}).empty());
        CHECK(is_free());
    }
    SUBCASE("it heeds nothing, and the step of a workflow is cancelled") {
        auto step = site.step(lines(deaf));
        REQUIRE(is_ready(step.process()));
        auto next = site.next(look);
        const int needed = step.cancel();
        // The old compose waits for ten seconds by itself.
        CHECK((is_early(needed) || client == "docker-compose"));
        sees_nothing(next);
    }
    SUBCASE("its client is killed") {
        auto run = site.start(lines(deaf));
        REQUIRE(is_ready(run));
        auto next = site.next(look);
        site.kill_client("docker-compose");
        CHECK(run.wait(2 * patience) != 0);
        sees_nothing(next);
    }
}
