#include "store/redis/server_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace store::redis {
namespace {

using namespace std::chrono_literals;
using guard::Duration;

constexpr int oldest_version = 6;
constexpr int soon = 30;  // days
constexpr Duration much_clock_difference = 1s;

Finding ok(std::string_view check, std::string text) {
    return {check, Verdict::ok, std::move(text)};
}

Finding warn(std::string_view check, std::string text, std::string remedy) {
    return {check, Verdict::warn, std::move(text), std::move(remedy)};
}

Finding fail(std::string_view check, std::string text, std::string remedy) {
    return {check, Verdict::fail, std::move(text), std::move(remedy)};
}

bool is_local(const Endpoint& endpoint) {
    const auto& host = endpoint.host;
    return !endpoint.unix_path.empty() || host == "localhost" || host == "::1" ||
           (is_address(host) && host.starts_with("127."));
}

int major_of(const std::string& version) noexcept {
    int major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    return major;
}

/// As people write it.
std::string name_of(const std::string& server) {
    return server.empty() || server == "redis" ? "Redis" : server == "valkey" ? "Valkey" : server;
}

std::string megabytes(long long bytes) {
    return fmt::format("{:.4g} MB", static_cast<double>(bytes) / (1024 * 1024));
}

}  // namespace

Finding not_known(std::string_view check) {
    return warn(check, "not known: the right to INFO is missing",
                "give the user that right (+info, see sandbox-lock doctor --acl)");
}

Finding find_reach(const Endpoint& endpoint, Duration connecting, const Latency& latency,
                   const Access& access) {
    const auto text =
        fmt::format("{} answers in {} (worst: {}), connected in {}", endpoint.text(),
                    span_text(latency.median), span_text(latency.worst), span_text(connecting));
    if (latency.worst > access.response_timeout / 4)
        return warn("reach", text,
                    fmt::format("raise --response-timeout ({}), or use a server that is nearer",
                                span_text(access.response_timeout)));
    if (connecting > access.connect_timeout / 2)
        return warn("reach", text,
                    fmt::format("raise --connect-timeout ({})", span_text(access.connect_timeout)));
    return ok("reach", text);
}

Finding find_tls(const Endpoint& endpoint, const std::optional<TlsFacts>& facts,
                 const TlsAccess& access) {
    if (!facts) {
        if (is_local(endpoint)) return ok("tls", "none, and none is needed: this host alone");
        if (!endpoint.password) return ok("tls", "none: the network may read and change all");
        return warn("tls", "none: the network may read the password",
                    "use the server's TLS port and rediss:// in the URL");
    }
    const auto& certificate = facts->certificate;
    const auto text =
        fmt::format("{}, a certificate for {}, until {}", facts->version,
                    certificate.hosts.empty() ? "nobody" : certificate.hosts, certificate.expires);
    if (access.insecure)
        return warn("tls", text + "; nobody checks it (--tls-insecure)",
                    "give the authority's certificate by --tls-cacert instead");
    if (certificate.days_left < soon)
        return warn("tls", fmt::format("{}: {} days are left", text, certificate.days_left),
                    "give the server a new certificate before that");
    return ok("tls", text);
}

Finding find_server(const Hello& hello, const Info& info) {
    if (major_of(hello.version) < oldest_version)
        return fail("server",
                    hello.version.empty() ? "it tells no version, as before Redis 6"
                                          : name_of(hello.server) + " " + hello.version,
                    "use Redis 6 or newer, or Valkey");
    auto text = fmt::format("{} {}, {}", name_of(hello.server), hello.version, hello.mode);
    if (hello.mode == "sentinel")
        return fail("server", text + ": it keeps no data", "name the server that it watches");
    if (!info.empty())
        text += ", up for " +
                span_text(guard::clamped(std::chrono::seconds{info.number("uptime_in_seconds")}));
    return ok("server", text);
}

Finding find_role(const Hello& hello, const Info& info) {
    if (hello.role != "replica" && hello.role != "slave") return ok("role", "primary");
    const auto host = info.text("master_host");
    return fail("role", "a replica, which takes no writes",
                host.empty() ? "use the address of its primary"
                             : fmt::format("use the address of its primary, {} port {}", host,
                                           info.text("master_port")));
}

Finding find_eviction(const Info& info) {
    if (info.empty()) return not_known("eviction");
    const auto limit = info.number("maxmemory");
    const auto policy = info.text("maxmemory_policy");
    if (limit == 0) return ok("eviction", "no memory limit, so no key is dropped for one");
    const auto text = fmt::format("maxmemory {}, maxmemory-policy {}", megabytes(limit), policy);
    if (policy == "noeviction") return ok("eviction", text + ": no key is dropped");
    return warn("eviction", text + ": a lock may be dropped while it is held",
                "set maxmemory-policy noeviction, or use a server without other data");
}

Finding find_persistence(const Info& info, const ServerSettings& settings) {
    if (info.empty()) return not_known("persistence");
    constexpr std::string_view grace = "holders get 1 s to set theirs again, others wait for that";
    if (info.number("aof_enabled") != 0) {
        if (settings.appendfsync == "always")
            return ok("persistence", "appendonly, appendfsync always: a restart loses no lease");
        return ok(
            "persistence",
            fmt::format("appendonly, appendfsync {}: a crash may lose the last leases; {}",
                        settings.appendfsync.empty() ? "not known" : settings.appendfsync, grace));
    }
    const bool saves = !settings.save.empty() || info.number("rdb_saves") > 0;
    return warn("persistence",
                fmt::format("{}: a restart loses {} leases; {}",
                            saves ? "RDB files alone" : "no appendonly file",
                            saves ? "the newest" : "the", grace),
                "set appendonly yes and appendfsync always if a holder may be cut off from the "
                "server then");
}

Finding find_replicas(const Info& info, const ServerSettings& settings, int wanted) {
    if (info.empty()) return not_known("replicas");
    const auto count = info.number("connected_slaves");
    if (count < wanted)
        return fail("replicas",
                    fmt::format("{}, and --min-replicas {}: no slot can be entered", count, wanted),
                    "see to it that the replicas are connected, or want fewer");
    if (wanted > 0)
        return ok("replicas",
                  fmt::format("{}, of which {} must have a lease (--min-replicas)", count, wanted));
    // INFO has this line only where the setting is in force.
    const bool in_force = !info.text("min_slaves_good_slaves").empty();
    if (count == 0 && !in_force) return ok("replicas", "none, so there is no failover");
    if (in_force)
        return ok("replicas",
                  fmt::format("{}, of which it needs {} for a write", count,
                              settings.min_replicas.empty() ? "some" : settings.min_replicas));
    return warn("replicas",
                fmt::format("{}, and it needs none for a write: a failover may lose the newest "
                            "leases",
                            count),
                "use --min-replicas 1, or set min-replicas-to-write 1");
}

Finding find_clock(Duration ahead, Duration error) {
    const auto text = fmt::format("the server's is {} {}, give or take {}",
                                  span_text(ahead < Duration::zero() ? -ahead : ahead),
                                  ahead < Duration::zero() ? "behind" : "ahead", span_text(error));
    if (ahead < much_clock_difference && ahead > -much_clock_difference) return ok("clock", text);
    return warn("clock", text + "; exclusion does not depend on it, but what status shows does",
                "set both by NTP");
}

Finding find_lease(const Practice& practice, const Access& access, const Latency& latency) {
    const auto ttl = practice.lease_ttl;
    const auto answer_time = std::min(access.response_timeout, ttl / 6);
    const auto grace = std::min(practice.kill_after, ttl / 3);
    auto text =
        practice.renew
            ? fmt::format("{}, renewed every {}", span_text(ttl), span_text(ttl / 3))
            : fmt::format("{}, not renewed: a command that takes longer is ended", span_text(ttl));
    text += fmt::format("; KILL {} after TERM", span_text(grace));
    if (latency.worst > answer_time / 4)
        return warn("lease",
                    fmt::format("{}; the server took {} for an answer, and a renewal waits {} at "
                                "most",
                                text, span_text(latency.worst), span_text(answer_time)),
                    "raise --lease-ttl and --response-timeout");
    if (practice.kill_after > grace)
        return warn("lease",
                    fmt::format("{}, not --kill-after {}", text, span_text(practice.kill_after)),
                    fmt::format("raise --lease-ttl to {}, or lower --kill-after",
                                span_text(practice.kill_after * 3)));
    if (!practice.renew && ttl < 1min)
        return warn("lease", text, "raise --lease-ttl, or leave out --no-renew");
    if (access.retry_interval < latency.worst)
        return warn("lease",
                    fmt::format("{}; tried again every {}, faster than the server answers", text,
                                span_text(access.retry_interval)),
                    "raise --retry-interval");
    return ok("lease", text);
}

Finding find_keys(const std::vector<KeyCount>& counts) {
    std::string text;
    for (const auto& [prefix, keys, complete] : counts)
        text += fmt::format("{}{}{} under '{}'", text.empty() ? "" : ", ",
                            complete ? "" : "at least ", keys, prefix);
    const auto others = std::ranges::find_if(counts.begin() + 1, counts.end(),
                                             [](const KeyCount& c) { return c.keys > 0; });
    if (counts.front().keys > 0 || others == counts.end()) return ok("keys", text);
    return warn("keys", text + ": who uses that prefix is not excluded",
                fmt::format("use --key-prefix {} if that is meant", others->prefix));
}

}  // namespace store::redis
