#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/spawn.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace bench {

/// A way to lock: the words before the command.
struct Tool {
    std::string name;
    Words prefix;
    Words requests = {};  ///< what it sends to Redis itself, beside what its scripts call
    bool heavy = false;   ///< takes so much time and memory that less of it has to do

    [[nodiscard]] Words around(const Words& command) const;
};

/// All that are here, and the servers that they need.
class Toolbox {
public:
    explicit Toolbox(const Options& options);

    [[nodiscard]] const std::vector<Tool>& tools() const noexcept { return tools_; }
    /// `flock from util-linux 2.38.1` and the like, of all that is measured.
    [[nodiscard]] const Words& versions() const noexcept { return versions_; }
    /// Tools that are not installed here.
    [[nodiscard]] const Words& missing() const noexcept { return missing_; }
    [[nodiscard]] const support::RedisServer& redis() const noexcept { return redis_; }

private:
    [[nodiscard]] bool is_wanted(const std::string& name) const;
    void add(Tool tool);
    void add_ours();
    [[nodiscard]] std::string installed(const std::string& program) const;
    void add_etcd();
    void add_consul();

    const Options& options_;
    support::TempDir dir_;
    support::RedisServer redis_;
    std::vector<support::Process> servers_;
    std::vector<Tool> tools_;
    Words versions_;
    Words missing_;
};

}  // namespace bench
