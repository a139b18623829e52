#pragma once

#include <string>

#include "support/certificates.hpp"
#include "support/redis_server.hpp"

namespace support {

/// A real redis-server that speaks TLS on one port and plain on another, with an authority of its
/// own. Until told otherwise its certificate is for localhost and 127.0.0.1, and it asks clients
/// for none.
class TlsServer {
public:
    TlsServer();

    Authority authority;
    const Identity good;  ///< for localhost and 127.0.0.1

    /// From now on the server shows this certificate.
    void show(const Identity& identity) const;
    /// Whether clients need a certificate of the authority: `yes`, `no` or `optional`.
    void ask_clients(const std::string& demand) const;
    /// The versions it speaks, such as `TLSv1.2`; empty for its default.
    void speak(const std::string& versions) const;
    /// As at the start.
    void reset() const;

    [[nodiscard]] std::string url(const std::string& host = "localhost") const {
        return "rediss://" + host + ":" + port_;
    }
    [[nodiscard]] const std::string& port() const noexcept { return port_; }

private:
    void configure(const std::vector<std::string>& names_and_values) const;

    std::string port_;

public:
    RedisServer redis;
};

/// The one that the tests of one program share, reset.
TlsServer& shared_tls_server();

}  // namespace support
