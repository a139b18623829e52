// The connection breaks in the middle of every request, after every byte: by the store's own
// interface, so that there is time for all of them. tests/waiting/cuts.cpp does it with the
// program.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "guard/owner_card.hpp"
#include "store/store.hpp"
#include "support/cutting_proxy.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

using namespace support;
using namespace std::chrono_literals;
using guard::BootClock;
using guard::Deadline;
using guard::Duration;
using guard::Fault;
using guard::Wake;

namespace {

constexpr Duration ttl = 4s;
/// Within this a thread runs that could run.
constexpr Duration slack = 5s;

/// Waits by poll(2), until a lease has been renewed once.
class UntilRenewed final : public guard::LeasedRun {
public:
    Wake wait(int fd, short events, Deadline until) override {
        for (;;) {
            if (renewed_) return Wake::interrupted;
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                std::min<Duration>(until - BootClock::now(), 1h));
            pollfd entry{fd, events, 0};
            const int ready = poll(&entry, 1, static_cast<int>(std::max(left, 0ms).count()));
            if (ready > 0) return Wake::ready;
            if (BootClock::now() >= until) return Wake::timeout;
        }
    }
    void extended(Deadline) override { renewed_ = true; }

private:
    bool renewed_ = false;
};

std::string token_of(const std::string& name) {
    return R"({"id":")" + name + R"("})";
}

/// One claim of the slot `key`. What it sends is as long in each run.
struct Claimant {
    Claimant(const std::string& url, const std::string& key, const std::string& name,
             Duration response_timeout = slack) {
        auto opened =
            store::open({url, std::nullopt, response_timeout, response_timeout, 300ms, {}},
                        {key, token_of(name), ttl, true}, [](const guard::Report&) {});
        if (opened) store = std::move(*opened);
    }
    auto enter(
        guard::Patience patience = {},
        const store::OnTaken& on_taken = [](const auto&) { return guard::never; }) {
        UntilRenewed poller;
        return store->enter(patience, poller, on_taken);
    }
    auto release(Duration patience = slack) {
        UntilRenewed poller;
        return store->release(guard::after(BootClock::now(), patience), poller);
    }

    std::unique_ptr<store::Store> store;
};

/// What a claimant does: it enters if it can at once, and leaves; or it enters, holds until a
/// renewal, and leaves, alone or after it has waited for another holder.
enum class Course { once, alone, waiting };

/// A session through a proxy that cuts it once. A rival wants the slot as soon as the entry is
/// over.
class Session {
public:
    Session(const RedisServer& server, const Cut& cut, Course course, int number)
        : server_(server),
          cut_(cut),
          course_(course),
          key_(fmt::format("cut:{:05}", number)),
          proxy_(server.socket(), cut) {}

    /// What went wrong; empty if nothing.
    std::string run() {
        Claimant subject(proxy_.url("cutter:hunter2"), key_, "subject", response_timeout());
        const auto lease = course_ == Course::waiting ? enter_after_another(subject)
                                                      : subject.enter({course_ == Course::once});
        if (lease)
            goes_in();
        else if (!may_fail(lease.error()))
            note("not entered: " + lease.error().text);
        std::thread rival([this] { enter_as_rival(); });
        if (lease) hold(subject, *lease);
        const auto done = subject.release(6 * response_timeout());
        const auto gone = BootClock::now();
        if (!done) note("not released: " + done.error().text);
        if (server_.command({"GET", key_}) == token_of("subject")) note("left behind");
        rival.join();
        if (rival_in_ - gone > (done ? 0s : ttl) + slack) note("the slot was stuck");
        check_nothing_left();
        return faults_;
    }

    [[nodiscard]] CuttingProxy& proxy() noexcept { return proxy_; }

private:
    guard::Result<guard::Lease> enter_after_another(Claimant& subject) {
        Claimant other(server_.unix_url(), key_, "other");
        if (!other.enter()) note("nobody enters at the start");
        ++inside_;
        const auto leave = [&] {
            --inside_;
            if (!other.release()) note("the holder at the start is not released");
        };
        int told = 0;
        auto lease = subject.enter({}, [&](const store::Standing&) {
            if (++told == 2) leave();  // by then it has asked for all messages that there are
            return guard::never;
        });
        if (told < 2) leave();
        return lease;
    }
    void goes_in() {
        if (++inside_ != 1) note("two are in");
    }
    void hold(Claimant& subject, const guard::Lease& lease) {
        guard::Holding holding;
        UntilRenewed renewed;
        if (course_ != Course::once) holding = subject.store->hold(lease, renewed);
        --inside_;
        if (holding.lost) note("lost the lease: " + holding.why);
    }
    void enter_as_rival() {
        Claimant rival(server_.unix_url(), key_, "rival");
        const auto lease = rival.enter();
        rival_in_ = BootClock::now();
        if (!lease) return note("the rival does not enter: " + lease.error().text);
        goes_in();
        --inside_;
        if (!rival.release()) note("the rival is not released");
    }
    void check_nothing_left() {
        for (const auto& key : {key_, "{" + key_ + "}:queue"})
            if (server_.command({"EXISTS", key}) != "0") note(key + " is left");
    }

    /// A short one makes a run end soon where nothing comes any more.
    [[nodiscard]] Duration response_timeout() const {
        return cut_.manner == Manner::silence ? 500ms : slack;
    }
    /// Who does not wait does not try again. A server that lets nobody log in is down, and so is
    /// one that is silent from the start; on a busy machine the time for that is short.
    [[nodiscard]] bool may_fail(const guard::Error& error) const {
        constexpr std::string_view logged_in = "+OK\r\n";
        const bool is_down =
            course_ == Course::once || proxy_.passed(Way::to_client) < logged_in.size();
        return error.fault == Fault::unreachable &&
               (cut_.manner == Manner::silence || (proxy_.has_cut() && is_down));
    }
    void note(const std::string& fault) {
        const std::scoped_lock lock{noting_};
        faults_ += fault + "; ";
    }

    const RedisServer& server_;
    const Cut cut_;
    const Course course_;
    const std::string key_;
    CuttingProxy proxy_;
    std::atomic<int> inside_ = 0;
    Deadline rival_in_{};
    std::mutex noting_;
    std::string faults_;
};

struct Trial {
    Cut cut;
    Course course;

    [[nodiscard]] std::string text() const {
        constexpr std::array courses{"once", "alone", "waiting"};
        constexpr std::array manners{"reset", "closed", "silent"};
        return fmt::format(
            "{}, {} after {} bytes to the {}: ", courses.at(static_cast<std::size_t>(course)),
            manners.at(static_cast<std::size_t>(cut.manner)), cut.after,
            cut.way == Way::to_server ? "server" : "client");
    }
};

/// After which bytes to cut: all, or only some and those around the end of each request and answer.
std::set<std::size_t> cuts_of(CuttingProxy& whole, Way way, bool all) {
    std::set<std::size_t> cuts;
    for (std::size_t n = 0; n <= whole.passed(way); n += all ? 1 : 29) cuts.insert(n);
    for (const auto end : whole.ends(way)) cuts.insert({end - 1, end, end + 1});
    return cuts;
}

/// The long ones first.
std::vector<Trial> trials_on(const RedisServer& server, bool all) {
    std::vector<Trial> trials;
    for (const Course course : {Course::waiting, Course::alone, Course::once}) {
        Session whole(server, {}, course, 0);
        REQUIRE(whole.run() == "");
        for (const Way way : {Way::to_server, Way::to_client})
            for (const Manner manner : {Manner::silence, Manner::reset, Manner::close}) {
                const bool is_quick = course == Course::once && manner != Manner::silence;
                for (const auto n : cuts_of(whole.proxy(), way, all || is_quick))
                    trials.push_back({{way, n, manner}, course});
            }
    }
    return trials;
}

/// Most of a session is waiting, so very many run at a time.
std::string faults_of(const std::vector<Trial>& trials, const RedisServer& server) {
    std::atomic<std::size_t> next = 0;
    std::mutex noting;
    std::string faults;
    std::vector<std::thread> threads;
    for (int i = 0; i < 300; ++i)
        threads.emplace_back([&] {
            for (std::size_t n = 0; (n = next++) < trials.size();) {
                const auto& [cut, course] = trials[n];
                const auto fault = Session(server, cut, course, static_cast<int>(n) + 1).run();
                const std::scoped_lock lock{noting};
                if (!fault.empty()) faults += trials[n].text() + fault + "\n";
            }
        });
    for (auto& thread : threads) thread.join();
    return faults;
}

}  // namespace

// Where SANDBOX_LOCK_TEST_ALL_CUTS is set, none is left out; that takes a minute.
TEST_CASE("cuts: after each byte, one holder at a time, and the slot is soon free again") {
    (void)signal(SIGPIPE, SIG_IGN);  // as the program blocks it
    RedisServer server;
    server.command({"ACL", "SETUSER", "cutter", "on", ">hunter2", "~*", "&*", "+@all"});
    REQUIRE(Session(server, {}, Course::waiting, 0).run() == "");  // the server has the scripts now
    const auto trials = trials_on(server, std::getenv("SANDBOX_LOCK_TEST_ALL_CUTS") != nullptr);
    CHECK(faults_of(trials, server) == "");
}
