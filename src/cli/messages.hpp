#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/live_line.hpp"
#include "cli/settings.hpp"
#include "guard/report.hpp"
#include "guard/result.hpp"

namespace spdlog {
class logger;
}

namespace cli {

/// Writes what happened to standard error, one line each: `sandbox-lock: SLOT: TEXT`, or one JSON
/// object with the same facts. Control characters are escaped, so that nobody's key or token can
/// forge a line.
class Messages {
public:
    Messages(LogFormat format, bool quiet, bool verbose);
    ~Messages();
    Messages(Messages&&) noexcept;
    Messages& operator=(Messages&&) noexcept;

    /// From now on each message names this slot.
    void about(std::string slot, std::string store_key);

    void operator()(const guard::Report& report);

    /// Whether writing may wait. While a lease is held it may not: a full pipe that nobody reads,
    /// or a terminal after Ctrl-S, would stop the renewal. What cannot be written is written later.
    void may_wait(bool allowed);

    /// Shows how a wait stands in the last line of the terminal, until another message is written
    /// or it is hidden. False where there is no such line, so that log lines are needed: not a
    /// terminal, or not ours at the moment, JSON, or a quiet run. Never waits.
    bool show_live(LiveFacts facts);
    void hide_live();

    /// A report as it would be written, without the newline.
    [[nodiscard]] std::string line(const guard::Report& report) const;

    /// An error that ends the program.
    void fatal(const guard::Error& error);

private:
    void write(std::string line);
    void write_held_back();

    std::unique_ptr<spdlog::logger> logger_;
    LogFormat format_;
    guard::Level least_;
    std::string slot_;
    std::string store_key_;
    LiveLine live_;
    bool may_wait_ = true;
    std::vector<std::string> held_back_;
};

}  // namespace cli
