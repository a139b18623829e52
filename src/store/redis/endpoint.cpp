#include "store/redis/endpoint.hpp"

#include <sys/un.h>

#include <charconv>

namespace store::redis {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;

Error refuse(const std::string& why) {
    return {Fault::configuration,
            "the store's URL " + why +
                ": the forms are redis://[user][:password]@host[:port][/db], "
                "redis+sentinel://[user][:password]@host[:port],.../master-name[/db], the same "
                "with rediss for TLS, and redis+unix:///path[?db=N]"};
}

std::optional<int> number(std::string_view text, int least, int most) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

constexpr int most_databases = 1'000'000'000;

Result<Endpoint> with_socket(const Url& url, Endpoint endpoint) {
    if (url.servers.size() > 1 || !url.servers.front().host.empty() || url.servers.front().port)
        return refuse("has a host before the socket's path");
    if (url.path.size() < 2) return refuse("lacks the socket's path");
    if (url.path.find('\0') != url.path.npos || url.path.size() >= sizeof(sockaddr_un::sun_path))
        return refuse("has a socket path that is too long or holds a NUL");
    endpoint.unix_path = url.path;
    if (url.query.empty()) return endpoint;
    const bool named = url.query.starts_with("db=");
    const auto db =
        named ? number(std::string_view(url.query).substr(3), 0, most_databases) : std::nullopt;
    if (!db) return refuse("has a query that is not db=NUMBER");
    endpoint.database = *db;
    return endpoint;
}

Result<Endpoint> with_host(const Url& url, Endpoint endpoint) {
    // Two servers that know nothing of each other would be two locks.
    if (url.servers.size() > 1) return refuse("has several hosts, which only sentinels may have");
    if (!url.query.empty()) return refuse("has a query, which means nothing here");
    const auto database = database_in(url.path);
    if (!database) return database.error();
    endpoint.database = *database;
    return endpoint.at(url.servers.front(), "6379");
}

}  // namespace

Result<Endpoint> Endpoint::with_login(const Url& url, std::optional<std::string> password) {
    Endpoint endpoint;
    endpoint.user = url.user.value_or("");
    endpoint.password = url.password ? url.password : std::move(password);
    if (!endpoint.user.empty() && !endpoint.password)
        return refuse(
            "names a user, but no password is given by it, --password-file or "
            "REDISCLI_AUTH");
    return endpoint;
}

Result<Endpoint> Endpoint::from(const Url& url, std::optional<std::string> password) {
    auto endpoint = with_login(url, std::move(password));
    if (!endpoint) return endpoint;
    return url.scheme == "redis+unix" ? with_socket(url, std::move(*endpoint))
                                      : with_host(url, std::move(*endpoint));
}

Result<Endpoint> Endpoint::at(const HostPort& server, const std::string& default_port) const {
    if (server.host.empty()) return refuse("lacks a host");
    if (server.host.find('\0') != server.host.npos) return refuse("has a host with a NUL");
    Endpoint there = *this;
    there.unix_path.clear();
    there.host = server.host;
    there.port = server.port.value_or(default_port);
    if (!number(there.port, 1, 65535)) return refuse("has a port that is not 1 to 65535");
    return there;
}

std::string host_and_port(const std::string& host, const std::string& port) {
    return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + port;
}

Result<int> database_in(std::string_view path) {
    if (path.size() <= 1) return 0;
    const auto db = number(path.substr(1), 0, most_databases);
    if (!db) return refuse("has a path that is no database number");
    return *db;
}

std::string Endpoint::text() const {
    const std::string db = database == 0 ? "" : std::to_string(database);
    if (!unix_path.empty()) return "redis+unix://" + unix_path + (db.empty() ? "" : "?db=" + db);
    return (tls ? "rediss://" : "redis://") + host_and_port(host, port) +
           (db.empty() ? "" : "/" + db);
}

}  // namespace store::redis
