#pragma once

#include <deque>
#include <string>
#include <vector>

#include "support/redis_node.hpp"

namespace support {

/// A primary, two replicas, and three sentinels that watch them: real processes.
class Sentinels {
public:
    /// What they ask for; empty: nothing.
    struct Passwords {
        std::string servers;
        std::string sentinels;
    };
    /// How a primary is lost.
    enum class Loss {
        killed,   ///< it is gone
        stopped,  ///< it answers nothing, and wakes up later
        retired,  ///< by SENTINEL FAILOVER: it becomes a replica at once
        cut_off   ///< from the sentinels alone: its clients still have it (only with passwords)
    };

    /// Returns when they are whole, and older than the grace that holders get after a restart.
    explicit Sentinels(const Passwords& passwords = {});

    /// redis+sentinel://LOGIN@HOST:PORT,HOST:PORT,HOST:PORT/main; no login if empty.
    [[nodiscard]] std::string url(const std::string& login = {}) const;
    [[nodiscard]] static std::string master_name() { return "main"; }

    [[nodiscard]] RedisNode& sentinel(std::size_t number) { return sentinels_.at(number); }
    /// Whom all sentinels name and who agrees; waits for it.
    [[nodiscard]] RedisNode& primary();
    /// The other two.
    [[nodiscard]] std::vector<RedisNode*> replicas();

    /// Takes the primary away and returns it at once.
    RedisNode& lose_primary(Loss loss);
    /// Until the sentinels have agreed about another primary than `lost`; throws if they do not.
    void wait_for_another(const RedisNode& lost);
    /// Starts what was killed as a replica, brings back what was stopped or cut off, and waits
    /// until all is whole.
    void heal();

private:
    [[nodiscard]] RedisNode* agreed();
    [[nodiscard]] bool is_whole();

    std::deque<RedisNode> servers_;
    std::deque<RedisNode> sentinels_;
};

/// Those that the tests of one program share, healed.
Sentinels& shared_sentinels();

}  // namespace support
