#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "support/certificates.hpp"
#include "support/redis_node.hpp"

namespace support {

/// A cluster of six: three masters with a third of the hash slots each, and a replica of each.
class Cluster {
public:
    /// Returns when all of them find it whole and serve. `password` is that of all; empty: none.
    /// With `tls` they have a port for that, and use it among themselves, too.
    explicit Cluster(std::string password = {}, bool tls = false);

    [[nodiscard]] RedisNode& node(std::size_t number) { return nodes_.at(number); }
    /// The node's URL for clients, by TLS where it has that; without a login if that is empty.
    [[nodiscard]] std::string url(const RedisNode& node, const std::string& login = {}) const;
    /// The file with the certificate of the nodes' authority.
    [[nodiscard]] std::string authority() const { return authority_->cert(); }

    /// The master that has the key's hash slot, by its own word.
    [[nodiscard]] RedisNode& master_of(const std::string& key);
    /// A master that has not.
    [[nodiscard]] RedisNode& stranger_to(const std::string& key);
    [[nodiscard]] RedisNode& replica_of(const RedisNode& master);
    [[nodiscard]] std::vector<RedisNode*> masters();

    /// How a key's hash slot moves to another master, step by step. What has begun has to be
    /// finished.
    class Move {
    public:
        Move(Cluster& cluster, const std::string& key, RedisNode& to);

        /// Both nodes know of it: what the one does not have is asked for at the other.
        void begin() const;
        void move_key(const std::string& key) const;  ///< if it is there
        void move_keys() const;                       ///< all that are there
        void finish() const;  ///< moves what is left, and tells all masters whose the slot is

        RedisNode& from;
        RedisNode& to;

    private:
        Cluster& cluster_;
        std::string slot_;
    };
    [[nodiscard]] Move move_away(const std::string& key) { return {*this, key, stranger_to(key)}; }

    /// Kills a master and waits until its replica serves in its place.
    void replace(RedisNode& master);
    /// Starts what was killed, resumes what was stopped, and waits until all is whole.
    void heal();

private:
    [[nodiscard]] NodeSetup node_setup();
    void share_out_slots();
    void join();
    [[nodiscard]] bool is_whole();
    [[nodiscard]] const std::string& bus_port(const RedisNode& node) const;

    std::string password_;
    std::unique_ptr<Authority> authority_;  ///< with TLS
    Identity identity_;
    std::deque<RedisNode> nodes_;
    std::vector<std::string> tls_ports_;
};

/// The one that the tests of one program share, healed.
Cluster& shared_cluster();

}  // namespace support
