#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "chaos/cable.hpp"
#include "chaos/evidence.hpp"
#include "chaos/faults.hpp"
#include "guard/descriptor.hpp"
#include "support/process.hpp"

namespace chaos {

/// Where the contenders meet.
struct Ground {
    std::string direct_url;   ///< of the server
    std::string distant_url;  ///< the same by the wire that is tampered with
    std::string far_url;      ///< the same from the far end of the cable
    const Cable* cable;       ///< where there is one
    std::string history;      ///< where commands write
    std::string messages;     ///< where what the runs said is kept
    int slots = 1;
};

/// A process that a fault is for.
struct Target {
    int run = -1;
    guard::Descriptor process;  ///< a pidfd, so that no other one is ever hit in its place
};

/// Those who contend for the slots: each starts a run of sandbox-lock, and when that has ended, the
/// next, with options that depend on the seed and the number of the run.
class Contenders {
public:
    Contenders(std::size_t count, std::uint64_t seed, const Ground& ground);

    /// Notes what has ended and starts what is due, unless nobody is to start any more.
    void step();
    void start_no_more() noexcept { starts_ = false; }
    [[nodiscard]] bool all_ended() const;

    /// A process in that role now, chosen by `pick`. Of a run's keeper and warden at most one is
    /// ever killed or stopped: what remains is to end the tree.
    [[nodiscard]] std::optional<Target> find(Kind kind, std::uint32_t pick);

    /// Moves what has been seen into the evidence.
    void give(Evidence& evidence);

    /// In the environment of all processes of all runs.
    [[nodiscard]] const std::string& mark() const noexcept { return mark_; }

private:
    enum class Guardian { none, keeper, warden };
    struct Seat {
        std::optional<support::Process> keeper;
        int run = -1;
        Time next{};
        bool has_loose_ends = false;  ///< descendants that a killed command may leave behind
        Guardian hit = Guardian::none;
    };

    void start(Seat& seat);
    void look(Seat& seat);
    [[nodiscard]] std::optional<Target> find_at(Seat& seat, Role role, bool disables) const;

    std::uint64_t seed_;
    Ground ground_;
    std::string mark_;
    std::string job_;
    std::ofstream messages_;
    std::vector<Seat> seats_;
    std::vector<Run> runs_;
    std::mt19937_64 pauses_;
    bool starts_ = true;
};

}  // namespace chaos
