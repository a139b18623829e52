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

    /// For messages, without user and password.
    [[nodiscard]] std::string text() const;
};

}  // namespace store::redis
