// The crontab of the manual page, as cron runs it.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/recipes.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

using Words = std::vector<std::string>;

/// crontab(5): a `%` ends the command, unless there is a backslash before it.
std::string command_in(const std::string& field) {
    std::string command;
    for (const char c : field) {
        if (c == '%' && !command.ends_with('\\')) break;
        if (c == '%') command.pop_back();
        command += c;
    }
    return command;
}

struct Crontab {
    explicit Crontab(const std::string& text) {
        const std::regex variable{"[A-Z_]+=.*"};
        const std::regex job{"(?:[^ ]+ ){5}(.*)"};
        std::istringstream lines{text};
        std::smatch found;
        for (std::string line; std::getline(lines, line);)
            if (std::regex_match(line, variable))
                environment.push_back(line);
            else if (std::regex_match(line, found, job))
                commands.push_back(command_in(found[1]));
    }

    Words environment;
    Words commands;
};

/// Without a terminal, with a few variables only.
Process cron(const Workplace& place, const Crontab& crontab, std::size_t job) {
    Words words{"env", "-i", "HOME=" + place / "", "LOGNAME=tester", "SHELL=/bin/sh", place.mark()};
    words.insert(words.end(), crontab.environment.begin(), crontab.environment.end());
    words.insert(words.end(), {"/bin/sh", "-c", crontab.commands.at(job)});
    return place.start(words);
}

/// What cron would send by mail.
std::string mail(const Process& job) {
    return job.out() + job.err();
}

Words files_of(const Workplace& place, const std::string& extension) {
    Words names;
    for (const auto& entry : std::filesystem::directory_iterator(place / ""))
        if (entry.path().extension() == extension) names.push_back(entry.path().filename());
    return names;
}

}  // namespace

TEST_CASE("recipe for cron: a job that still runs is not started again, and nobody gets mail") {
    Workplace place("");
    std::string store = shared_redis().unix_url();
    SUBCASE("Redis") {}
    SUBCASE("file:") {
        store = "file:" + place / "locks";
    }
    const Crontab crontab(recipe(
        "A crontab", {{"/usr/local/bin", place.bin()}, {"redis://redis.example:6379", store}}));
    REQUIRE(crontab.commands.size() == 2);
    place.executable("bin/sweep",
                     "#!/bin/sh\necho >>\"$HOME/sweeps\"\n"
                     "until [ -e \"$HOME/end\" ]; do sleep 0.02; done\n");
    const auto sweeps = [&] { return read_file(place / "sweeps"); };

    auto first = cron(place, crontab, 0);
    REQUIRE(eventually([&] { return sweeps() == "\n"; }));
    auto second = cron(place, crontab, 0);
    CHECK(second.wait() == 0);
    CHECK(mail(second).empty());
    CHECK(sweeps() == "\n");
    write_file(place / "end", "");
    CHECK(first.wait() == 0);
    CHECK(mail(first).empty());
    CHECK(cron(place, crontab, 0).wait() == 0);
    CHECK(sweeps() == "\n\n");
}

TEST_CASE("recipe for cron: a job that waits; what cannot be done is told by mail") {
    Workplace place("");
    place.executable("bin/dump", "#!/bin/sh\necho saved\n");
    const Replacements own{{"/usr/local/bin", place.bin()},
                           {"redis://redis.example:6379", shared_redis().unix_url()}};
    SUBCASE("it gets the slot") {
        auto job = cron(place, Crontab(recipe("A crontab", own)), 1);
        CHECK(job.wait() == 0);
        CHECK(mail(job).empty());
        const auto written = files_of(place, ".sql");
        REQUIRE(written.size() == 1);
        CHECK(std::regex_match(written.front(), std::regex{"[A-Z][a-z]{2}\\.sql"}));
        CHECK(read_file(place / written.front()) == "saved\n");
    }
    SUBCASE("somebody else keeps it") {
        shared_redis().command({"SET", key_of("global:dump"), "foreign", "PX", "600000"});
        auto hasty = own;
        hasty.emplace_back("-w 1h", "-w 100ms");
        auto job = cron(place, Crontab(recipe("A crontab", hasty)), 1);
        CHECK(job.wait() == 75);
        CHECK(mail(job).find("not acquired") != std::string::npos);
        shared_redis().command({"DEL", key_of("global:dump")});
    }
}
