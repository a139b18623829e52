#pragma once

#include <memory>
#include <string>
#include <vector>

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
    bool may_wait_ = true;
    std::vector<std::string> held_back_;
};

}  // namespace cli
