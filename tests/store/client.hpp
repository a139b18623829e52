#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/owner_card.hpp"
#include "store/store.hpp"
#include "support/eventually.hpp"
#include "support/program.hpp"
#include "support/secret.hpp"

namespace store_tests {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Deadline;
using guard::Wake;

/// Waits by poll(2); interrupted when asked to be.
class TestRun final : public guard::LeasedRun {
public:
    Wake wait(int fd, short events, Deadline until) override {
        ++waits;
        if (interrupted) return Wake::interrupted;
        while (BootClock::now() < until) {
            if (interrupt_at <= BootClock::now()) return Wake::interrupted;
            pollfd entry{fd, events, 0};
            if (::poll(&entry, 1, 1) > 0) return Wake::ready;
        }
        return Wake::timeout;
    }
    void extended(Deadline deadline) override { deadlines.push_back(deadline); }

    bool interrupted = false;
    Deadline interrupt_at = guard::never;
    int waits = 0;
    std::vector<Deadline> deadlines;
};

/// One claim of a store, used by the store's own interface.
struct Client {
    Client(const std::string& url, const std::string& slot, guard::Duration ttl = 30s) {
        (void)signal(SIGPIPE, SIG_IGN);  // as the program blocks it
        claim = {support::key_of(slot),
                 guard::make_token(guard::OwnerCard::of_this_process("test")), ttl, true};
        auto opened = store::open({url, std::nullopt, 2s, 1s, 20ms}, claim,
                                  [this](const guard::Report& report) {
                                      support::check_no_secret(report.text, "a report");
                                      reports.push_back(report);
                                  });
        REQUIRE(opened);
        store = std::move(*opened);
    }
    auto enter(guard::Patience patience = {}) {
        auto lease = store->enter(patience, run, [this](const store::Standing& standing) {
            holders.push_back(standing.holder);
            return guard::never;
        });
        if (!lease) support::check_no_secret(lease.error().text, "an error");
        return lease;
    }
    auto release() { return store->release(guard::after(BootClock::now(), 2s), undisturbed); }
    bool holds(const std::string& token) {
        const auto held = store->held_by(token, guard::after(BootClock::now(), 2s), undisturbed);
        REQUIRE(held);
        return *held;
    }
    [[nodiscard]] bool told(std::string_view event) const {
        return std::ranges::any_of(reports,
                                   [&](const auto& report) { return report.event == event; });
    }

    guard::Claim claim;
    std::unique_ptr<store::Store> store;
    TestRun run;
    TestRun undisturbed;
    std::vector<guard::Report> reports;
    std::vector<std::string> holders;
};

inline constexpr guard::Patience once{.once = true};

}  // namespace store_tests
