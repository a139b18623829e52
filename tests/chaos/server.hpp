#pragma once

#include <string>
#include <vector>

#include "chaos/evidence.hpp"
#include "support/redis_node.hpp"
#include "support/shifted_clock.hpp"

namespace chaos {

/// The server that is contended on: it writes an append-only file, which it can lose, and its clock
/// can be set.
class Server {
public:
    /// Listens at a socket, and at those addresses.
    explicit Server(const std::vector<std::string>& addresses);

    [[nodiscard]] const std::string& socket() const noexcept { return node_.socket(); }
    [[nodiscard]] std::string url() const { return "redis+unix://" + node_.socket(); }
    [[nodiscard]] std::string url_at(const std::string& address) const {
        return "redis://" + address + ":" + node_.port();
    }
    [[nodiscard]] support::RedisNode& node() noexcept { return node_; }

    void kill() { node_.kill(); }
    void start_with_its_data() { node_.start(); }
    /// Its clock is set to the latest time that it ever had.
    void start_empty();

    /// Moves it, back no further than to when it was emptied: the manual promises fences that grow
    /// as long as the clocks agree.
    void set_clock(Duration by);

    /// What is left of slots: the keys that are neither a fence nor end by themselves within
    /// `longest` of now.
    [[nodiscard]] std::vector<std::string> keys_beyond(Duration longest);
    /// The slots' own keys.
    [[nodiscard]] std::vector<std::string> held_slots();

private:
    support::TempDir dir_;
    support::ShiftedClock clock_;
    Duration ahead_{};
    Duration most_ahead_{};
    Duration emptied_ = Duration::min() / 2;  ///< when, by its own clock
    support::RedisNode node_;
};

}  // namespace chaos
