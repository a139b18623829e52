// The unit of the manual page.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/recipes.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

using Words = std::vector<std::string>;

const std::string title = "A unit of systemd";

std::map<std::string, std::string> settings_of(const std::string& unit) {
    std::map<std::string, std::string> settings;
    std::istringstream lines{unit};
    std::string line;
    for (std::string part; std::getline(lines, part); line.clear()) {
        line += part;
        while (line.ends_with('\\') && std::getline(lines, part)) line.back() = ' ', line += part;
        if (const auto equals = line.find('='); equals != line.npos)
            settings[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return settings;
}

Words split(const std::string& text) {
    std::istringstream stream{text};
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

/// Starts and stops the unit as systemd does: systemd.service(5), systemd.kill(5).
class Service {
public:
    explicit Service(const std::string& agent, const std::string& stop_time = "30")
        : place_(shared_redis().unix_url()) {
        place_.executable("bin/code-agent", agent);
        unit_ = recipe(title, {{"/usr/local/bin", place_.bin()},
                               {"redis://redis.example:6379", shared_redis().unix_url()},
                               {"TimeoutStopSec=30", "TimeoutStopSec=" + stop_time}});
        settings_ = settings_of(unit_);
    }

    [[nodiscard]] Process start() const {
        Words words{"env", "-i", settings_.at("Environment"), place_.mark(),
                    "PATH=/usr/local/bin:/usr/bin:/bin"};
        const auto command = split(settings_.at("ExecStart"));
        words.insert(words.end(), command.begin(), command.end());
        return place_.start(words);
    }
    /// Whether it ends before systemd loses patience and kills all.
    bool stop(Process& main) const {
        REQUIRE(settings_.at("KillMode") == "mixed");
        main.signal(SIGTERM);
        const std::chrono::seconds limit{std::stoi(settings_.at("TimeoutStopSec"))};
        if (eventually([&] { return main.ended(); }, limit)) return true;
        for (const pid_t pid : place_.running()) kill(pid, SIGKILL);
        main.wait();
        return false;
    }
    [[nodiscard]] const Workplace& place() const { return place_; }
    [[nodiscard]] const std::string& unit() const { return unit_; }

private:
    Workplace place_;
    std::string unit_;
    std::map<std::string, std::string> settings_;
};

std::string agent(const std::string& before) {
    return "#!/bin/sh\ncd \"${0%/*}\"\n" + before + "\ntouch ready\nwhile :; do sleep 0.02; done\n";
}

bool is_ready(const Service& service) {
    return eventually([&] { return std::ifstream(service.place() / "bin/ready").good(); });
}

bool is_free() {
    return !shared_redis().command({"GET", key_of("agent:code-agent")});
}

}  // namespace

TEST_CASE("recipe for systemd: it takes the unit for one without faults") {
    const Workplace place("");
    if (place.start({"sh", "-c", "command -v systemd-analyze"}).wait() != 0) {
        MESSAGE("no systemd-analyze here");
        return;
    }
    const Service service(agent(""));
    write_file(place / "code-agent.service", service.unit());
    auto verify =
        place.start({"systemd-analyze", "verify", "--man=no", place / "code-agent.service"});
    CHECK(verify.wait() == 0);
    CHECK(verify.err().find("code-agent.service") == std::string::npos);
}

TEST_CASE("recipe for systemd: when the unit is stopped, another host takes over") {
    const Service service(agent("trap 'exit 0' TERM"));
    auto first = service.start();
    REQUIRE(is_ready(service));
    auto second = service.start();
    REQUIRE(eventually([&] { return second.err().find("waiting") != std::string::npos; }));
    std::remove((service.place() / "bin/ready").c_str());
    CHECK(service.stop(first));
    CHECK(first.wait() == 0);
    CHECK(is_ready(service));
    CHECK(service.stop(second));
    CHECK(service.place().running().empty());
    CHECK(is_free());
}

TEST_CASE("recipe for systemd: the whole tree is gone when the main process is") {
    const Service service(agent("trap 'exit 0' TERM\nsetsid sleep 1000 &\nsleep 1000 &"));
    auto main = service.start();
    REQUIRE(is_ready(service));
    CHECK(service.stop(main));
    CHECK(service.place().running().empty());
    CHECK(is_free());
}

TEST_CASE("recipe for systemd: an agent that heeds nothing is killed, and the slot stays closed") {
    const Service service(agent("trap '' TERM"), "1");
    auto main = service.start();
    REQUIRE(is_ready(service));
    CHECK_FALSE(service.stop(main));
    CHECK(eventually([&] { return service.place().running().empty(); }));
    CHECK_FALSE(is_free());
    shared_redis().command({"DEL", key_of("agent:code-agent")});
}
