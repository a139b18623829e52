#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/faults.hpp"
#include "guard/clock.hpp"

namespace chaos {

using guard::BootClock;
using guard::Duration;
using Time = BootClock::time_point;

struct Span {
    Time from{};
    Time to{};

    [[nodiscard]] bool touches(const Span& other) const noexcept {
        return from <= other.to && other.from <= to;
    }
    [[nodiscard]] Duration length() const noexcept { return to - from; }
};

/// What a command, or a descendant of it, wrote while it ran.
struct Sign {
    enum Kind : char { start = 'S', end = 'E', beat = 'B' } kind = beat;
    Time at{};
    int slot = 0;
    std::uint64_t fence = 0;
    int run = 0;
    pid_t pid = 0;
};

/// The signs in a history, as job.c writes them. Throws where a line is none.
[[nodiscard]] std::vector<Sign> read_signs(std::istream& history);

/// One run of sandbox-lock, as seen from outside. Its number is its place in Evidence::runs.
struct Run {
    int slot = 0;
    Duration ttl{};
    bool may_give_up = false;  ///< -n or -w
    Time spawned{};
    Time waiting{};  ///< when it was seen to be in the queue; zero: never
    Time ended{};    ///< zero: it did not
    int status = 0;  ///< as a shell has it
};

/// Something that was done to the system. One on a server acts until `span` is over.
struct Done {
    Kind kind{};
    Span span;
    int run = -1;     ///< whose process was hit; -1: it was the server, or the way to it
    Duration jump{};  ///< of the clock
};

/// All that is known of a time of chaos.
struct Evidence {
    std::vector<Run> runs;
    std::vector<Sign> signs;
    std::vector<Done> faults;
    std::vector<Span> stalls;               ///< when the machine let even this program wait
    std::vector<std::string> left_running;  ///< processes, after all runs had ended
    std::vector<std::string> left_in_store;
};

}  // namespace chaos
