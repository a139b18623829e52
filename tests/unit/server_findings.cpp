#include "store/redis/server_findings.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using namespace store::redis;
using store::Finding;
using store::Verdict;

namespace {

Verdict of(const Finding& finding) {
    CHECK(finding.remedy.empty() == (finding.verdict == Verdict::ok));
    return finding.verdict;
}

}  // namespace

TEST_CASE("INFO is read line by line") {
    const Info info{
        "# Server\r\nredis_version:7.0.15\r\nexecutable:/a:b\r\nuptime_in_seconds:12\r\n"};
    CHECK(info.text("executable") == "/a:b");
    CHECK(info.number("uptime_in_seconds") == 12);
    CHECK(info.number("redis_version") == 7);
    CHECK(info.text("no_such").empty());
    CHECK(Info{""}.empty());
}

TEST_CASE("a server is new enough, and keeps data") {
    const auto server = [](const char* name, const char* version, const char* mode = "standalone") {
        return of(find_server({name, version, mode, "master"}, Info{}));
    };
    CHECK(server("redis", "6.0.16") == Verdict::ok);
    CHECK(server("valkey", "8.0.1", "cluster") == Verdict::ok);
    CHECK(server("redis", "5.0.14") == Verdict::fail);
    CHECK(server("", "") == Verdict::fail);
    CHECK(server("redis", "7.2.0", "sentinel") == Verdict::fail);
    // Longer than a Duration can be.
    const auto old =
        find_server({"redis", "7", "standalone", ""}, Info{"uptime_in_seconds:99999999999"});
    CHECK(old.text.find("up for 106752 days") != std::string::npos);
    CHECK(of(find_role({"redis", "7", "standalone", "master"}, Info{})) == Verdict::ok);
    CHECK(of(find_role({"redis", "7", "standalone", "replica"}, Info{})) == Verdict::fail);
}

TEST_CASE("what only INFO tells is not known without it") {
    for (const auto& finding :
         {find_eviction(Info{}), find_persistence(Info{}, {}), find_replicas(Info{}, {}, 0)}) {
        CHECK(of(finding) == Verdict::warn);
        CHECK(finding.text.find("the right to INFO is missing") != std::string::npos);
    }
}

TEST_CASE("what a restart does to leases") {
    const Info appends{"aof_enabled:1\r\n"};
    CHECK(of(find_persistence(appends, {.appendfsync = "always"})) == Verdict::ok);
    CHECK(of(find_persistence(appends, {})) == Verdict::ok);
    const Info two{"connected_slaves:2\r\n"};
    CHECK(of(find_replicas(two, {}, 0)) == Verdict::warn);
    CHECK(of(find_replicas(two, {}, 2)) == Verdict::ok);
    CHECK(of(find_replicas(two, {}, 3)) == Verdict::fail);
    CHECK(of(find_persistence(Info{"aof_enabled:0\r\n"}, {.save = "3600 1"})) == Verdict::warn);
}

TEST_CASE("TLS, by what its certificate says and who checks that") {
    Endpoint far;
    far.host = "redis.example";
    Endpoint near;
    near.host = "127.0.0.1";
    const auto certificate = [](int days) {
        return TlsFacts{"TLSv1.3", {"redis.example", "2030-01-01", days}};
    };
    CHECK(of(find_tls(far, certificate(31), {})) == Verdict::ok);
    CHECK(of(find_tls(far, certificate(29), {})) == Verdict::warn);
    CHECK(of(find_tls(far, certificate(300), {.insecure = true})) == Verdict::warn);
    CHECK(of(find_tls(far, {}, {})) == Verdict::ok);
    far.password = "secret";
    CHECK(of(find_tls(far, {}, {})) == Verdict::warn);
    CHECK(find_tls(far, {}, {}).text.find("secret") == std::string::npos);
    near.password = "secret";
    CHECK(of(find_tls(near, {}, {})) == Verdict::ok);
}

TEST_CASE("clocks and times") {
    CHECK(of(find_clock(-900ms, 1ms)) == Verdict::ok);
    CHECK(of(find_clock(2s, 1ms)) == Verdict::warn);
    CHECK(of(find_clock(-2s, 1ms)) == Verdict::warn);
    CHECK(span_text(210us) == "0.21 ms");
    CHECK(span_text(30s) == "30 s");
    CHECK(span_text(std::chrono::hours{72}) == "3 days");

    const store::Access access{.url = "",
                               .password = {},
                               .connect_timeout = 5s,
                               .response_timeout = 2s,
                               .retry_interval = 500ms,
                               .tls = {}};
    CHECK(of(find_reach({}, 1ms, {1ms, 2ms}, access)) == Verdict::ok);
    CHECK(of(find_reach({}, 1ms, {1ms, 900ms}, access)) == Verdict::warn);
    CHECK(of(find_reach({}, 4s, {1ms, 2ms}, access)) == Verdict::warn);
    const store::Practice practice{"p:", 2s, true, 500ms};
    CHECK(of(find_lease(practice, access, {1ms, 2ms})) == Verdict::ok);
    CHECK(of(find_lease(practice, access, {1ms, 100ms})) == Verdict::warn);
    auto hasty = access;
    hasty.retry_interval = 1ms;
    CHECK(of(find_lease(practice, hasty, {1ms, 2ms})) == Verdict::warn);
}
