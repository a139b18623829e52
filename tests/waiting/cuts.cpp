// The connection breaks in the middle of a request, and the program tells the truth about it. At
// some points only; tests/store/cuts.cpp has them all, by the store's own interface.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/cutting_proxy.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"

using namespace support;

namespace {

/// In the environment of all that a test starts.
std::string mark() {
    return "CUTS_OF=" + std::to_string(getpid());
}

std::string text_of(const Cut& cut) {
    constexpr std::array manners{"reset", "closed", "silent"};
    return fmt::format("{}{} after {} bytes to the {}",
                       manners.at(static_cast<std::size_t>(cut.manner)),
                       cut.for_good ? " for good" : "", cut.after,
                       cut.way == Way::to_server ? "server" : "client");
}

/// One run of the program through a proxy, with a holder before it if it waits and a rival after
/// it.
class Trial {
public:
    static constexpr int own_status = 7;

    Trial(const RedisServer& server, const Cut& cut, bool waits, std::size_t number)
        : server_(server),
          cut_(cut),
          waits_(waits),
          slot_(fmt::format("agent:cut-{:03}", number)),
          log_(dir_ / "log"),
          proxy_(server.socket(), cut) {}

    // The steps, each to be done for many trials at a time.
    void start_holder() {
        if (!waits_) return;
        mkfifo(go().c_str(), 0600);
        holder_.emplace(start(server_.unix_url(), "holder", "read go < " + go()));
    }
    [[nodiscard]] bool holder_is_in() const { return !waits_ || says("start holder"); }
    void start_subject() {
        subject_.emplace(
            start(proxy_.url(), "subject",
                  "sleep 1.2; trap '' TERM; echo end subject >> " + log_ + "; exit 7",
                  {"--lease-ttl", "3s", "--kill-after", "200ms", "--response-timeout", "400ms",
                   "--connect-timeout", "1s", "-w", cut_.for_good ? "4" : "30"}));
    }
    [[nodiscard]] bool subject_is_there() {
        return subject_->ended() || says("start subject") || proxy_.has_cut() ||
               server_.command({"ZCARD", "{" + key_of(slot_) + "}:queue"}) == "1";
    }
    void start_rival() { rival_.emplace(start(server_.unix_url(), "rival", "true")); }
    void free_holder() {
        if (waits_) write_file(go(), "\n");
    }

    void check() {
        CAPTURE(text_of(cut_));
        CAPTURE(waits_);
        const int status = subject_->wait();
        CAPTURE(subject_->err());
        CAPTURE(read_file(log_));
        CHECK(is_right(status));
        CHECK(rival_->wait() == 0);
        if (holder_) CHECK(holder_->wait() == 0);
        check_order();
        CHECK(server_.command({"EXISTS", key_of(slot_)}) == "0");
    }

    [[nodiscard]] CuttingProxy& proxy() noexcept { return proxy_; }

private:
    Process start(const std::string& url, const std::string& name, const std::string& script,
                  std::vector<std::string> options = {}) {
        const std::string end = "echo end " + name + " >> " + log_;
        options.insert(options.end(), {slot_, "--", "sh", "-c",
                                       "trap '" + end + "; exit 1' TERM; echo start " + name +
                                           " >> " + log_ + "; " + script + "; " + end});
        return sandbox_lock(url, options, {.environment = {mark()}});
    }
    [[nodiscard]] std::string go() const { return dir_ / "go"; }
    [[nodiscard]] bool says(const std::string& line) const {
        return read_file(log_).find(line + "\n") != std::string::npos;
    }

    /// Its command's own, or what DESIGN section 6 says of a store that is away.
    [[nodiscard]] bool is_right(int status) const {
        const bool has_run = says("start subject");
        if (status == own_status) return says("end subject");
        if (status == 79) return has_run && cut_.for_good;
        if (status == 75) return !has_run && waits_ && cut_.for_good;
        // A server with which there never was a word is down.
        const bool is_down = cut_.for_good || cut_.manner == Manner::silence || cut_.after == 0;
        return status == 69 && !has_run && is_down;
    }
    /// Each start is followed by its own end.
    void check_order() const {
        std::istringstream lines{read_file(log_)};
        std::string inside;
        for (std::string word, name; lines >> word >> name;) {
            CHECK(inside == (word == "start" ? "" : name));
            inside = word == "start" ? name : "";
        }
        CHECK(inside == "");
    }

    const RedisServer& server_;
    const Cut cut_;
    const bool waits_;
    const std::string slot_;
    const TempDir dir_;
    const std::string log_;
    CuttingProxy proxy_;
    std::optional<Process> holder_;
    std::optional<Process> subject_;
    std::optional<Process> rival_;
};

using Trials = std::vector<std::unique_ptr<Trial>>;

void run(Trials& trials) {
    for (auto& trial : trials) trial->start_holder();
    for (auto& trial : trials) REQUIRE(eventually([&] { return trial->holder_is_in(); }));
    for (auto& trial : trials) trial->start_subject();
    for (auto& trial : trials) REQUIRE(eventually([&] { return trial->subject_is_there(); }));
    for (auto& trial : trials) trial->start_rival();
    for (auto& trial : trials) trial->free_holder();
    for (auto& trial : trials) trial->check();
    CHECK(eventually([] { return processes_with(mark()).empty(); }));
}

/// Some places in a session of that many bytes.
std::vector<std::size_t> some_of(std::size_t bytes, std::size_t places) {
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i <= places; ++i) some.push_back(bytes * i / places);
    return some;
}

/// Runs a program that asks little, for each of some cuts, all of them at a time.
void check_each_cut(const RedisServer& server,
                    const std::function<Process(const std::string& url)>& start,
                    const std::function<bool(const Cut& cut, int status)>& is_right) {
    CuttingProxy whole(server.socket(), {});
    REQUIRE(is_right({}, start(whole.url()).wait()));
    std::vector<Cut> cuts;
    for (const Way way : {Way::to_server, Way::to_client})
        for (const auto n : some_of(whole.passed(way), 8))
            for (const Manner manner : {Manner::reset, Manner::close, Manner::silence})
                cuts.push_back({way, n, manner});
    std::vector<std::unique_ptr<CuttingProxy>> proxies;
    std::vector<Process> processes;
    for (const auto& cut : cuts) {
        proxies.push_back(std::make_unique<CuttingProxy>(server.socket(), cut));
        processes.push_back(start(proxies.back()->url()));
    }
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        CAPTURE(text_of(cuts[i]));
        const int status = processes[i].wait();
        CAPTURE(processes[i].err());
        CHECK(is_right(cuts[i], status));
    }
}

}  // namespace

TEST_CASE("cuts: the exit status is right, none overlap, and nothing is left") {
    auto& server = shared_redis();
    Trials whole;
    for (const int i : {0, 1}) {  // at first the server does not know the scripts
        whole.clear();
        for (const bool waits : {false, true})
            whole.push_back(std::make_unique<Trial>(server, Cut{}, waits, 2 * i + waits));
        run(whole);
    }
    Trials trials;
    for (const bool waits : {false, true})
        for (const Way way : {Way::to_server, Way::to_client})
            for (const auto n :
                 some_of(whole[waits ? 1 : 0]->proxy().passed(way), way == Way::to_server ? 8 : 4))
                for (const auto& [manner, for_good] :
                     {std::pair{Manner::reset, false}, std::pair{Manner::reset, true},
                      std::pair{Manner::close, false}, std::pair{Manner::silence, false}})
                    trials.push_back(std::make_unique<Trial>(server, Cut{way, n, manner, for_good},
                                                             waits, trials.size() + 4));
    run(trials);
}

TEST_CASE("cuts: a nested call never waits for its own parent") {
    auto& server = shared_redis();
    const auto key = key_of("agent:cut-nested");
    server.command({"SET", key, "token-of-the-parent", "PX", "600000"});
    check_each_cut(
        server,
        [&](const std::string& url) {
            return sandbox_lock(url, {"--connect-timeout", "1s", "agent:cut-nested", "--", "true"},
                                {.environment = {"SANDBOX_LOCK_KEY=" + key,
                                                 "SANDBOX_LOCK_TOKEN=token-of-the-parent"}});
        },
        [](const Cut& cut, int status) {
            return status == 0 || (status == 69 && cut.manner == Manner::silence);
        });
    server.command({"DEL", key});
}

TEST_CASE("cuts: status does not take a slot for free because nobody answers") {
    auto& server = shared_redis();
    const auto key = key_of("agent:cut-status");
    server.command({"SET", key, "somebody", "PX", "600000"});
    check_each_cut(
        server,
        [&](const std::string& url) {
            return sandbox_lock(url, {"status", "-q", "--connect-timeout", "1s",
                                      "--response-timeout", "1s", "agent:cut-status"});
        },
        [](const Cut&, int status) { return status == 1 || status == 69; });
    server.command({"DEL", key});
}
