#pragma once

#include <string>
#include <vector>

#include "bench/spawn.hpp"

namespace bench {

struct Options {
    bool start = false;     ///< measure what wrapping a command costs
    bool handover = false;  ///< and how a slot passes on; both unless one is asked for
    bool quick = false;
    int rounds = 0;  ///< how often each is run; 0: what the part takes for enough
    int warm_up = 20;
    bool instructions = true;
    std::vector<int> waiters;
    int hold_ms = 20;
    bool by_socket = false;
    Words only;        ///< the tools to measure; empty: all
    std::string json;  ///< a file, "-" for standard output, or empty
    std::string svg;
    std::string program;
    Words others;  ///< further builds of sandbox-lock
    std::string poller;
    std::string stamp;
};

/// From the command line; ends the program where that has to be.
[[nodiscard]] Options read_options(int argc, char** argv);

}  // namespace bench
