#pragma once

#include <optional>
#include <string>

#include "guard/result.hpp"
#include "store/url.hpp"

namespace store::redis {

/// Where a Redis server is and who we are there.
struct Endpoint {
    std::string unix_path;  ///< a socket's path; else host and port count
    std::string host;
    std::string port;
    int database = 0;
    std::string user;
    std::optional<std::string> password;

    /// Reads `redis://[user][:password]@host[:port][/db]` and `redis+unix:///path[?db=N]`.
    /// `password` counts where the URL has none.
    static guard::Result<Endpoint> from(const Url& url, std::optional<std::string> password);

    /// For messages, without user and password.
    [[nodiscard]] std::string text() const;
};

}  // namespace store::redis
