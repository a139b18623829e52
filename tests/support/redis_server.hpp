#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace support {

/// A real server of the test's own, on a free port and a socket, without persistence: redis-server,
/// or what SANDBOX_LOCK_TEST_SERVER names, such as valkey-server.
class RedisServer {
public:
    /// Returns when it answers and is older than the grace that holders get after a restart.
    explicit RedisServer(std::vector<std::string> options = {});

    [[nodiscard]] std::string url() const;       ///< redis://127.0.0.1:PORT
    [[nodiscard]] std::string unix_url() const;  ///< redis+unix://PATH
    [[nodiscard]] const std::string& port() const noexcept { return port_; }
    [[nodiscard]] const std::string& socket() const noexcept { return socket_; }

    /// One command; a string, integer or status comes as text, nil as nothing, an array joined by
    /// newlines, an error as "ERROR ...".
    std::optional<std::string> command(const std::vector<std::string>& words) const;
    /// All keys, sorted, one a line.
    std::string keys() const;

    void stop();    ///< SIGSTOP: it takes connections and answers nothing
    void resume();  ///< SIGCONT
    void kill();    ///< gone at once
    void start();   ///< again, on the same port, with nothing in it; does not wait for its age
    void wait_old() const;  ///< until it is older than the grace

private:
    TempDir dir_;
    std::vector<std::string> options_;
    std::string port_;
    std::string socket_;
    std::optional<Process> process_;
};

/// A TCP port on 127.0.0.1 where nobody listens.
[[nodiscard]] std::string free_port();

/// The server that the tests of one program share: starting one takes more than a second.
RedisServer& shared_redis();

}  // namespace support
