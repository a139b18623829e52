#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace support {

/// A TCP port on 127.0.0.1 where nobody listens.
[[nodiscard]] std::string free_port();
/// One where nobody listens at the port 10000 above it either: there a cluster's nodes talk.
[[nodiscard]] std::string free_cluster_port();

/// What a node is started with beside its port, its socket and its folder.
struct NodeSetup {
    std::vector<std::string> options;
    std::string config;    ///< lines for its configuration file
    std::string password;  ///< of the default user, there and at its primary; empty: none
    std::string port = free_port();
    std::vector<std::string> environment;  ///< NAME=VALUE sets
};

/// A process of a real server of the test's own, on 127.0.0.1 and a socket, without persistence:
/// one of its own, one of several that belong together, or a sentinel. It keeps port and folder
/// when it is started again.
class RedisNode {
public:
    /// Returns when it answers.
    explicit RedisNode(NodeSetup setup);

    [[nodiscard]] const std::string& port() const noexcept { return setup_.port; }
    [[nodiscard]] const std::string& socket() const noexcept { return socket_; }

    /// One command; a string, integer or status comes as text, nil as nothing, an array joined by
    /// newlines, an error as "ERROR ...". Nothing also comes from one that does not answer.
    std::optional<std::string> command(const std::vector<std::string>& words) const;
    /// The value of a line `name:value` in the answer to such a command, such as INFO; or empty.
    std::string value_of(const std::string& name, const std::vector<std::string>& words) const;

    /// Until it is older than the grace that holders get after a restart.
    void wait_old() const;

    void stop();    ///< SIGSTOP: it takes connections and answers nothing
    void resume();  ///< SIGCONT
    void kill();    ///< gone at once
    void start(const std::vector<std::string>& more_options = {});  ///< again, with nothing in it
    /// Whether it can answer: it is neither killed nor stopped.
    [[nodiscard]] bool runs() const { return process_ && !stopped_; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

private:
    TempDir dir_;
    NodeSetup setup_;
    std::string socket_;
    std::optional<Process> process_;
    bool stopped_ = false;
};

}  // namespace support
