#pragma once

#include <memory>
#include <optional>
#include <string>

#include "guard/result.hpp"
#include "store/url.hpp"

namespace store::redis {

class Tls;

/// Where a Redis server is and who we are there.
struct Endpoint {
    std::string unix_path;  ///< a socket's path; else host and port count
    std::string host;
    std::string port;
    int database = 0;
    std::string user;
    std::optional<std::string> password;
    std::shared_ptr<Tls> tls;  ///< none: plain; add_tls (tls.hpp) sets it

    /// Reads `redis://[user][:password]@host[:port][/db]`, the same with `rediss`, and
    /// `redis+unix:///path[?db=N]`. `password` counts where the URL has none.
    static guard::Result<Endpoint> from(const Url& url, std::optional<std::string> password);

    /// Only who we are: the URL's login, or its user with `password`.
    static guard::Result<Endpoint> with_login(const Url& url, std::optional<std::string> password);

    /// The same login, database and TLS at another server.
    [[nodiscard]] guard::Result<Endpoint> at(const HostPort& server,
                                             const std::string& default_port) const;

    /// For messages, without user and password.
    [[nodiscard]] std::string text() const;
};

/// `host:port`, an IPv6 address in brackets.
[[nodiscard]] std::string host_and_port(const std::string& host, const std::string& port);

/// A database's number as a path has it, `/3`; 0 where there is none.
[[nodiscard]] guard::Result<int> database_in(std::string_view path);

}  // namespace store::redis
