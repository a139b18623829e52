// The workflow step of the manual page, cancelled as GitHub's runner does it on Linux.
#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <future>
#include <regex>
#include <string>

#include "support/github_runner.hpp"
#include "support/program.hpp"
#include "support/recipes.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

/// A step whose `make test` is the script `test`, in a slot of its own.
class Step {
public:
    Step(const std::string& slot, const std::string& test, const Replacements& own_words = {})
        : place_(shared_redis().unix_url()), key_("agent:" + slot), step_(start(test, own_words)) {}

    [[nodiscard]] bool is_ready() const {
        return eventually([&] { return std::ifstream(place_ / "ready").good(); });
    }
    int cancel() { return step_.cancel(); }
    [[nodiscard]] Process& process() { return step_.process(); }
    [[nodiscard]] bool nothing_runs() const { return place_.running().empty(); }
    [[nodiscard]] bool is_free() const { return !shared_redis().command({"GET", key_of(key_)}); }
    /// Whether the command has got a signal of which it takes this note.
    [[nodiscard]] bool has_got_one() const { return std::ifstream(place_ / "got").good(); }

private:
    GithubStep start(const std::string& test, const Replacements& own_words) const {
        write_file(place_ / "Makefile", "test:\n\t@sh test.sh\n");
        write_file(place_ / "test.sh", test);
        Replacements words{{"agent:code-agent", key_}};
        words.insert(words.end(), own_words.begin(), own_words.end());
        const auto workflow = recipe("A step of a GitHub workflow", words);
        std::smatch run;
        REQUIRE(std::regex_search(workflow, run, std::regex{"\n +run: (.+)"}));
        return {place_, run[1]};
    }

    Workplace place_;
    std::string key_;
    GithubStep step_;
};

const std::string stay = "touch ready; while :; do sleep 0.02; done\n";

}  // namespace

TEST_CASE("recipe for a GitHub workflow: a cancelled step is over, whatever the command heeds") {
    Step heeds("heeds", "trap 'exit 3' INT\n" + stay);
    Step leaves("leaves",
                "trap 'exit 3' INT\n(trap '' INT TERM; exec setsid sleep 1000) &\n" + stay);
    Step needs_term("needs-term", "trap '' INT\ntrap 'exit 3' TERM\n" + stay);
    Step deaf("deaf", "trap '' INT TERM\n" + stay);
    for (const Step* step : {&heeds, &leaves, &needs_term, &deaf}) REQUIRE(step->is_ready());

    const auto cancelled = [](Step& step) {
        return std::async(std::launch::async, [&step] { return step.cancel(); });
    };
    auto second = cancelled(leaves);
    auto third = cancelled(needs_term);
    auto fourth = cancelled(deaf);

    CHECK(heeds.cancel() == SIGINT);
    CHECK(heeds.nothing_runs());
    CHECK(heeds.is_free());

    // What is left gets KILL in time for the runner, and the slot is left to lapse.
    CHECK(second.get() == SIGINT);
    CHECK(leaves.nothing_runs());
    CHECK_FALSE(leaves.is_free());

    CHECK(third.get() == SIGTERM);
    CHECK(needs_term.nothing_runs());
    CHECK(needs_term.is_free());

    // The runner's KILL ends nothing but the keeper.
    CHECK(fourth.get() == SIGKILL);
    CHECK(eventually([&] { return deaf.nothing_runs(); }));
    CHECK_FALSE(deaf.is_free());
}

TEST_CASE("recipe for a GitHub workflow: a step that waits for the slot is cancelled at once") {
    shared_redis().command({"SET", key_of("agent:taken"), "foreign", "PX", "600000"});
    Step step("taken", stay);
    REQUIRE(eventually([&] { return step.process().err().find("waiting") != std::string::npos; }));
    CHECK(step.cancel() == SIGINT);
    CHECK(step.process().wait() == 128 + SIGINT);
    shared_redis().command({"DEL", key_of("agent:taken")});
}

TEST_CASE("recipe for a GitHub workflow: without exec the command would go on") {
    Step step("bare", "trap 'touch got' INT TERM\n" + stay, {{"exec ", ""}});
    REQUIRE(step.is_ready());
    step.process().signal(SIGTERM);
    CHECK(step.process().wait() == 128 + SIGTERM);
    CHECK_FALSE(step.nothing_runs());
    CHECK_FALSE(step.is_free());
    CHECK_FALSE(step.has_got_one());
}
