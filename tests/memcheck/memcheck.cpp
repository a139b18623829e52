// The ways through the program that need no fault of the store, under valgrind's memcheck: keeper
// and warden, but not the command.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

using namespace support;

namespace {

/// A run of the program, each process of which writes what memcheck finds to a file of its own.
class Checked {
public:
    Checked(const std::string& store, const std::vector<std::string>& arguments)
        : process_(words(arguments), {.environment = clean_environment(store)}) {}

    [[nodiscard]] Process& process() { return process_; }
    /// The exit status, if memcheck has found nothing.
    int wait() {
        const int status = process_.wait(std::chrono::minutes{2});
        for (const auto& log : std::filesystem::directory_iterator(logs_ / "")) {
            const auto found = read_file(log.path());
            CHECK_MESSAGE(found.empty(), found);
        }
        return status;
    }

private:
    [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& arguments) const {
        std::vector<std::string> words{"valgrind", "--quiet", "--leak-check=no",
                                       "--log-file=" + (logs_ / "%p"), program_path()};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return words;
    }

    TempDir logs_;
    Process process_;
};

int status_of(const std::string& store, const std::vector<std::string>& arguments) {
    return Checked(store, arguments).wait();
}

}  // namespace

TEST_CASE("memcheck: help, and what is refused") {
    CHECK(status_of("", {"--help"}) == 0);
    CHECK(status_of("", {"-Z", "agent:x", "true"}) == 64);
    CHECK(status_of("redis://u:x@h:port", {"agent:x", "true"}) == 78);
}

TEST_CASE("memcheck: the store file:, with a configuration file") {
    const TempDir dir;
    const std::string store = "file:" + (dir / "locks");
    write_file(dir / "c.toml", "label = 'a b'  # c\nwait = \"10s\"\n");
    REQUIRE(std::filesystem::create_directory(dir / "locks"));
    CHECK(status_of(store, {"--config", dir / "c.toml", "agent:x", "sh", "-c", "exit 7"}) == 7);
    auto holder = sandbox_lock(store, {"agent:x", "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    CHECK(status_of(store, {"-n", "agent:x", "true"}) == 75);
    CHECK(status_of(store, {"status", "--json"}) == 0);
    Checked waiter{store, {"agent:x", "true"}};
    REQUIRE(
        eventually([&] { return waiter.process().err().find("waiting") != std::string::npos; }));
    holder.signal(SIGTERM);
    CHECK(waiter.wait() == 0);
    CHECK(status_of(store, {"doctor"}) == 0);
}

TEST_CASE("memcheck: a run, a wait and its end, status, break and doctor with Redis") {
    auto& redis = shared_redis();
    const auto store = redis.url();
    CHECK(status_of(store, {"agent:x", "--", "true"}) == 0);
    CHECK(status_of(store, {"agent:x", "--", "/nonexistent"}) == 127);

    Checked holder{store, {"-v", "agent:x", "--", "sh", "-c", "echo in; exec sleep 1000"}};
    REQUIRE(eventually([&] { return holder.process().out() == "in\n"; }));
    CHECK(status_of(store, {"-w", "0.3", "agent:x", "true"}) == 75);
    Checked waiter{store, {"agent:x", "--", "true"}};
    REQUIRE(
        eventually([&] { return waiter.process().err().find("waiting") != std::string::npos; }));
    CHECK(status_of(store, {"status"}) == 0);
    holder.process().signal(SIGTERM);
    CHECK(holder.wait() == 143);
    CHECK(waiter.wait() == 0);

    redis.command({"SET", key_of("agent:x"), "foreign", "PX", "60000"});
    CHECK(status_of(store, {"break", "--force", "--token", "foreign", "agent:x"}) == 0);
    CHECK(status_of(store, {"doctor", "--json"}) == 1);  // the server keeps nothing on a disk
    CHECK(status_of(store, {"doctor", "--acl"}) == 0);
}
