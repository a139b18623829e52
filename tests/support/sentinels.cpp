#include "support/sentinels.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace support {
namespace {

std::string sentinel_config(const std::string& port, const Sentinels::Passwords& passwords) {
    const auto name = Sentinels::master_name();
    std::ostringstream text;
    text << "sentinel monitor " << name << " 127.0.0.1 " << port << " 2\n"
         << "sentinel down-after-milliseconds " << name << " 1000\n"
         << "sentinel failover-timeout " << name << " 2000\n"
         << "sentinel parallel-syncs " << name << " 2\n";
    if (!passwords.servers.empty())
        text << "sentinel auth-user " << name << " watcher\n"
             << "sentinel auth-pass " << name << " " << passwords.servers << "\n";
    if (!passwords.sentinels.empty())
        text << "sentinel sentinel-pass " << passwords.sentinels << "\n";
    return text.str();
}

/// Everything in less time, where the version has a command for that. It also keeps them from a
/// rest of 30 s after they have had no processor for two.
void hasten(const RedisNode& sentinel) {
    for (const auto& [name, milliseconds] :
         std::vector<std::pair<std::string, std::string>>{{"info-period", "500"},
                                                          {"ask-period", "100"},
                                                          {"publish-period", "200"},
                                                          {"min-link-reconnect-period", "1000"},
                                                          {"tilt-trigger", "60000"}})
        sentinel.command({"SENTINEL", "DEBUG", name, milliseconds});
}

/// How often a field of this name has this value in the answer of a sentinel.
long count(const RedisNode& sentinel, const std::string& what, const std::string& name,
           const std::string& value) {
    std::istringstream lines{
        sentinel.command({"SENTINEL", what, Sentinels::master_name()}).value_or("")};
    long found = 0;
    for (std::string field, content; std::getline(lines, field) && std::getline(lines, content);)
        if (field == name && content == value) ++found;
    return found;
}

std::string role_of(const RedisNode& server) {
    return server.runs() ? server.command({"ROLE"}).value_or("") : "";
}

bool is_replica_of(const RedisNode& server, const RedisNode& primary) {
    return role_of(server).starts_with("slave\n127.0.0.1\n" + primary.port() + "\nconnected\n");
}

/// Whether a sentinel sees nothing that would hold up a failover.
bool sees_all(const RedisNode& sentinel, const RedisNode& primary) {
    return count(sentinel, "MASTER", "port", primary.port()) == 1 &&
           count(sentinel, "MASTER", "flags", "master") == 1 &&
           count(sentinel, "REPLICAS", "flags", "slave") == 2 &&
           count(sentinel, "REPLICAS", "master-link-status", "ok") == 2 &&
           count(sentinel, "REPLICAS", "master-port", primary.port()) == 2 &&
           count(sentinel, "SENTINELS", "flags", "sentinel") == 2;
}

std::vector<std::string> replica_of(const RedisNode& primary) {
    return {"--replicaof", "127.0.0.1", primary.port()};
}

}  // namespace

Sentinels::Sentinels(const Passwords& passwords) {
    for (int i = 0; i < 3; ++i) {
        std::vector<std::string> options{"--repl-diskless-sync-delay", "0",
                                         "--repl-ping-replica-period", "1"};
        if (i > 0) std::ranges::copy(replica_of(servers_.front()), std::back_inserter(options));
        std::string config;
        if (!passwords.servers.empty())
            config = "user watcher on >" + passwords.servers + " ~* &* +@all\n";
        servers_.emplace_back(
            NodeSetup{.options = options, .config = config, .password = passwords.servers});
    }
    // A sentinel looks for replicas when it starts, and then not soon again.
    for (std::size_t i = 1; i < 3; ++i)
        require_soon("sentinels: no replication",
                     [&] { return is_replica_of(servers_[i], servers_[0]); });
    for (int i = 0; i < 3; ++i) {
        sentinels_.emplace_back(
            NodeSetup{.options = {"--sentinel"},
                      .config = sentinel_config(servers_.front().port(), passwords),
                      .password = passwords.sentinels});
        hasten(sentinels_.back());
    }
    heal();
    for (const auto& server : servers_) server.wait_old();
}

std::string Sentinels::url(const std::string& login) const {
    std::string hosts;
    for (const auto& sentinel : sentinels_)
        hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + sentinel.port();
    return "redis+sentinel://" + (login.empty() ? "" : login + "@") + hosts + "/" + master_name();
}

RedisNode* Sentinels::agreed() {
    std::string named;
    for (const auto& sentinel : sentinels_) {
        if (!sentinel.runs()) continue;
        const auto answer =
            sentinel.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name()}).value_or("");
        if (named.empty()) named = answer;
        if (answer.empty() || answer != named) return nullptr;
    }
    const auto found = std::ranges::find_if(
        servers_, [&](const auto& server) { return named == "127.0.0.1\n" + server.port(); });
    return found != servers_.end() && role_of(*found).starts_with("master\n") ? &*found : nullptr;
}

RedisNode& Sentinels::primary() {
    RedisNode* node = nullptr;
    require_soon("sentinels: there is no primary", [&] { return (node = agreed()) != nullptr; });
    return *node;
}

std::vector<RedisNode*> Sentinels::replicas() {
    const auto& first = primary();
    std::vector<RedisNode*> others;
    for (auto& server : servers_)
        if (&server != &first) others.push_back(&server);
    return others;
}

RedisNode& Sentinels::lose_primary(Loss loss) {
    auto& lost = primary();
    switch (loss) {
        case Loss::killed:
            lost.kill();
            break;
        case Loss::stopped:
            lost.stop();
            break;
        case Loss::retired:
            require_soon("sentinels: none of them fails over", [&] {
                return sentinels_.front().command({"SENTINEL", "FAILOVER", master_name()}) == "OK";
            });
            break;
        case Loss::cut_off:
            lost.command({"ACL", "SETUSER", "watcher", "off"});
            lost.command({"CLIENT", "KILL", "USER", "watcher"});
            break;
    }
    return lost;
}

void Sentinels::wait_for_another(const RedisNode& lost) {
    require_soon("sentinels: they do not fail over", [&] {
        const auto* node = agreed();
        return node != nullptr && node != &lost;
    });
}

bool Sentinels::is_whole() {
    const auto* first = agreed();
    return first != nullptr &&
           std::ranges::all_of(servers_,
                               [&](const auto& server) {
                                   return &server == first || is_replica_of(server, *first);
                               }) &&
           std::ranges::all_of(sentinels_,
                               [&](const auto& sentinel) { return sees_all(sentinel, *first); });
}

void Sentinels::heal() {
    for (auto& node : sentinels_)
        if (node.stopped())
            node.resume();
        else if (!node.runs())
            node.start(), hasten(node);
    for (auto& node : servers_) {
        if (node.stopped()) node.resume();
        // Only where it may be off: without passwords there is no such user.
        if (node.runs() && node.command({"ACL", "GETUSER", "watcher"}))
            node.command({"ACL", "SETUSER", "watcher", "on"});
    }
    for (auto& node : servers_)
        if (!node.runs()) node.start(replica_of(primary()));
    require_soon("sentinels: they do not become whole", [&] { return is_whole(); });
}

Sentinels& shared_sentinels() {
    static Sentinels sentinels;
    sentinels.heal();
    return sentinels;
}

}  // namespace support
