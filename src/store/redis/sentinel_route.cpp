#include "store/redis/sentinel_route.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace store::redis {
namespace {

using guard::Deadline;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;

using std::chrono::milliseconds;

/// A master younger than this may not have its predecessor's leases back yet: DESIGN section 4.
constexpr milliseconds plain_youth{1000};
/// The same where leases are replicated. After SENTINEL FAILOVER the old master goes on, and
/// holders notice only when its replicas leave it; they look every second.
constexpr milliseconds replicated_youth{3000};

/// What a sentinel says.
struct Named {
    HostPort server;
    milliseconds age;  ///< for how long it has been the master
};

std::string url_of(const SentinelAddress& address) {
    const auto& server = address.server;
    std::string text = server.tls ? "rediss+sentinel://" : "redis+sentinel://";
    for (const auto& sentinel : address.sentinels)
        text.append(host_and_port(sentinel.host, sentinel.port)).append(",");
    text.back() = '/';
    text += address.master_name;
    if (server.database != 0) text.append("/").append(std::to_string(server.database));
    return text;
}

class SentinelRoute final : public Route {
public:
    explicit SentinelRoute(SentinelAddress address)
        : address_(std::move(address)), text_(url_of(address_)) {}

    Result<Connection> open(Deadline until, Poller& poller) override;
    Turn heed(std::string_view error_reply) override;
    Result<Connection> open_aside(Deadline, Poller&) override {
        return Error{Fault::internal, "sentinels lead nowhere aside"};
    }
    Result<Done> explore(Connection&, Deadline, Poller&) override { return Done{}; }
    bool fails_over() const noexcept override { return true; }
    guard::Duration fresh_for() const noexcept override { return fresh_for_; }
    const Endpoint& server() const noexcept override { return address_.server; }
    std::vector<Endpoint> masters() const override { return {address_.server}; }
    std::string text() const override { return text_; }

private:
    Result<Connection> open_by(const Endpoint& sentinel, Deadline until, Poller& poller);
    Result<Named> ask(const Endpoint& sentinel, Deadline until, Poller& poller) const;
    Result<Named> ask(Connection& connection, Deadline until, Poller& poller) const;
    static Result<Done> check_role(Connection& connection, Deadline until, Poller& poller);

    SentinelAddress address_;
    std::string text_;
    guard::Duration fresh_for_{};
};

/// Asks the sentinels in turn until one leads to a server that is a master. After a failover some
/// of them still name the old one, which may go on as a master; so another one is asked first the
/// next time.
Result<Connection> SentinelRoute::open(Deadline until, Poller& poller) {
    auto& sentinels = address_.sentinels;
    std::optional<Error> failure;
    for (std::size_t i = 0; i < sentinels.size(); ++i) {
        const auto share = guard::first_share(until, sentinels.size() - i);
        auto connection = open_by(sentinels[i], share, poller);
        if (connection) {
            const auto next = sentinels.begin() + static_cast<std::ptrdiff_t>(i + 1);
            std::rotate(sentinels.begin(), next, sentinels.end());
            return connection;
        }
        if (connection.error().fault == Fault::interrupted) return connection;
        // Who refuses something tells more than who is silent.
        if (!failure || failure->fault == Fault::unreachable) failure = connection.error();
    }
    return *failure;
}

Result<Connection> SentinelRoute::open_by(const Endpoint& sentinel, Deadline until,
                                          Poller& poller) {
    const auto named = ask(sentinel, until, poller);
    if (!named) {
        Error error = named.error();
        if (error.fault != Fault::interrupted)
            error.text =
                "sentinel " + host_and_port(sentinel.host, sentinel.port) + ": " + error.text;
        return error;
    }
    auto server = address_.server.at(named->server, "6379");
    if (!server) return server.error();
    const auto refuse = [&](Error error) {
        if (error.fault != Fault::interrupted)
            error.text = "server " + host_and_port(server->host, server->port) + ": " + error.text;
        return error;
    };
    auto connection = Connection::open(*server, until, poller);
    if (!connection) return refuse(connection.error());
    if (const auto master = check_role(*connection, until, poller); !master)
        return refuse(master.error());
    address_.server = std::move(*server);
    fresh_for_ = std::max(address_.youth - named->age, milliseconds::zero());
    return connection;
}

Result<Named> SentinelRoute::ask(const Endpoint& sentinel, Deadline until, Poller& poller) const {
    auto connection = Connection::open(sentinel, until, poller);
    if (!connection) return connection.error();
    return ask(*connection, until, poller);
}

/// The address as of now; while a failover goes on, that is already the new master's, and the rest
/// of what the sentinel knows still the old one's.
Result<Named> SentinelRoute::ask(Connection& connection, Deadline until, Poller& poller) const {
    const std::array<std::string_view, 3> address_command{"SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                                                          address_.master_name};
    const auto address = connection.request(address_command, until, poller);
    if (!address) return address.error();
    const auto said = text_of(**address);
    if (said.starts_with("NOAUTH") || said.starts_with("NOPERM"))
        return Error{Fault::denied,
                     "it wants a login with the right to SENTINEL: see --sentinel-user and "
                     "--sentinel-password-file ('" +
                         std::string(said) + "')"};
    if (is_error(**address))
        return Error{Fault::configuration, "it is no sentinel ('" + std::string(said) + "')"};
    if ((*address)->type == REDIS_REPLY_NIL)
        return Error{Fault::configuration, "it knows no master '" + address_.master_name +
                                               "': the URL's path has the name that the "
                                               "sentinels' configuration gives it"};
    Named named{{std::string(text_at(**address, 0)), std::string(text_at(**address, 1))},
                address_.youth};

    const std::array<std::string_view, 3> state_command{"SENTINEL", "MASTER", address_.master_name};
    const auto state = connection.request(state_command, until, poller);
    if (!state) return state.error();
    if (is_error(**state)) return named;
    const bool is_known =
        field(**state, "ip") == named.server.host && field(**state, "port") == named.server.port;
    const auto age = field(**state, "role-reported-time");
    long long ms = address_.youth.count();
    std::from_chars(age.data(), age.data() + age.size(), ms);
    named.age = milliseconds{is_known ? std::max(ms, 0LL) : 0};
    return named;
}

Result<Done> SentinelRoute::check_role(Connection& connection, Deadline until, Poller& poller) {
    constexpr std::array<std::string_view, 1> command{"ROLE"};
    const auto role = connection.request(command, until, poller);
    if (!role) return role.error();
    if (is_error(**role)) {
        // The right is optional: a replica refuses to write anyway.
        if (text_of(**role).starts_with("NOPERM")) return Done{};
        return plain_words(text_of(**role));
    }
    if (text_at(**role, 0) == "master") return Done{};
    return Error{Fault::unreachable, "the sentinel names it as the master, and it is a " +
                                         std::string(text_at(**role, 0)) +
                                         ": a failover is going on"};
}

Turn SentinelRoute::heed(std::string_view error_reply) {
    // What was a master is none any more.
    const bool demoted =
        error_reply.starts_with("READONLY") || error_reply.starts_with("MASTERDOWN");
    return demoted ? Turn::gone : Turn::none;
}

}  // namespace

Result<SentinelAddress> SentinelAddress::from(const Url& url, const Access& access) {
    SentinelAddress address;
    auto server = Endpoint::with_login(url, access.password);
    if (!server) return server.error();
    address.server = std::move(*server);
    address.youth = access.min_replicas > 0 ? replicated_youth : plain_youth;

    Endpoint sentinel;
    sentinel.user = access.sentinel_user;
    sentinel.password = access.sentinel_password;
    if (!sentinel.user.empty() && !sentinel.password)
        return Error{Fault::configuration,
                     "--sentinel-user is given, but no password for it: see "
                     "--sentinel-password-file"};
    for (const auto& host : url.servers) {
        auto endpoint = sentinel.at(host, "26379");
        if (!endpoint) return endpoint.error();
        address.sentinels.push_back(std::move(*endpoint));
    }

    std::string_view path = url.path;
    path.remove_prefix(std::min<std::size_t>(1, path.size()));
    const auto name = path.substr(0, path.find('/'));
    if (name.empty())
        return Error{Fault::configuration,
                     "the store's URL lacks the master's name: the form is "
                     "redis+sentinel://HOST[:PORT],.../NAME[/DB]"};
    address.master_name = name;
    const auto database = database_in(path.substr(name.size()));
    if (!database) return database.error();
    address.server.database = *database;
    if (!url.query.empty())
        return Error{Fault::configuration, "the store's URL has a query, which means nothing here"};
    return address;
}

std::unique_ptr<Route> route_by_sentinels(SentinelAddress address) {
    return std::make_unique<SentinelRoute>(std::move(address));
}

}  // namespace store::redis
