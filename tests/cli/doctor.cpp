// `doctor`, from outside.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/doctor.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"
#include "support/tls_server.hpp"

using namespace support;

namespace {

using Words = std::vector<std::string>;

struct Finding {
    std::string result;
    std::string text;
    std::string remedy;
};

/// What `doctor --json` says.
struct Diagnosis {
    int status;
    std::map<std::string, Finding> findings;
    std::string out;

    [[nodiscard]] std::string result(const std::string& check) const {
        const auto found = findings.find(check);
        return found == findings.end() ? "none" : found->second.result;
    }
    [[nodiscard]] std::string text(const std::string& check) const {
        return findings.contains(check) ? findings.at(check).text : "";
    }
};

Diagnosis diagnose(const std::string& url, Words options = {}) {
    options.insert(options.begin(), {"doctor", "--json"});
    auto doctor = sandbox_lock(url, options);
    Diagnosis diagnosis{doctor.wait(), {}, doctor.out()};
    CAPTURE(doctor.err());
    CHECK(doctor.err().empty());
    int worst = 0;
    for (const auto& entry : nlohmann::json::parse(diagnosis.out)) {
        const std::string check = entry.at("check");
        const Finding finding{entry.at("result"), entry.at("text"), entry.at("remedy")};
        CAPTURE(check);
        CHECK_FALSE(diagnosis.findings.contains(check));
        CHECK_FALSE(finding.text.empty());
        CHECK(finding.remedy.empty() == (finding.result == "OK"));
        worst = std::max(worst, finding.result == "OK" ? 0 : finding.result == "WARN" ? 1 : 2);
        diagnosis.findings.emplace(check, finding);
    }
    CHECK(diagnosis.status == worst);
    return diagnosis;
}

/// Puts a server's setting back.
class Setting {
public:
    Setting(const RedisServer& redis, std::string name, const std::string& value,
            std::string before)
        : redis_(redis), name_(std::move(name)), before_(std::move(before)) {
        REQUIRE(redis_.command({"CONFIG", "SET", name_, value}) == "OK");
    }
    ~Setting() { redis_.command({"CONFIG", "SET", name_, before_}); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

private:
    const RedisServer& redis_;
    std::string name_;
    std::string before_;
};

}  // namespace

TEST_CASE("doctor: a finding is one line in a pipe, and fits a terminal") {
    const store::Finding finding{"eviction", store::Verdict::warn, "one two\x1b[2J three four",
                                 "do this and that and something more"};
    CHECK(cli::finding_text(finding, 0) ==
          "WARN eviction: one two\\x1b[2J three four: do this and that and something more\n");
    CHECK(cli::finding_text({"reach", store::Verdict::ok, "fine"}, 0) == "OK reach: fine\n");
    CHECK(cli::finding_text(finding, 50) ==
          "WARN  eviction     one two\\x1b[2J three four\n"
          "                   -> do this and that and\n"
          "                      something more\n");
    CHECK(cli::finding_text({"reach", store::Verdict::ok, "fine"}, 10) ==
          "OK    reach        fine\n");
}

TEST_CASE("doctor: a server that is fit, and nothing is left there") {
    RedisServer redis({"--appendonly", "yes", "--appendfsync", "always"});
    const auto diagnosis = diagnose(redis.url());
    CAPTURE(diagnosis.out);
    CHECK(diagnosis.status == 0);
    for (const char* check : {"reach", "tls", "clock", "server", "role", "login", "messages",
                              "tracking", "enter", "renew", "status", "queue", "release", "lease",
                              "eviction", "persistence", "replicas", "wait", "keys"})
        CHECK(diagnosis.result(check) == "OK");
    CHECK(redis.keys().empty());

    auto lines = sandbox_lock(redis.unix_url(), {"doctor"});
    CHECK(lines.wait() == 0);
    CHECK(lines.out().starts_with("OK reach: redis+unix://"));
    CHECK(std::ranges::count(lines.out(), '\n') == 19);
    auto quiet = sandbox_lock(redis.unix_url(), {"doctor", "-q"});
    CHECK(quiet.wait() == 0);
    CHECK(quiet.out().empty());
}

TEST_CASE("doctor: what a server may lose") {
    const auto& redis = shared_redis();
    auto diagnosis = diagnose(redis.unix_url());
    CHECK(diagnosis.result("persistence") == "WARN");
    CHECK(diagnosis.status == 1);
    const Setting limit{redis, "maxmemory", "1000000000", "0"};
    CHECK(diagnose(redis.unix_url()).result("eviction") == "OK");
    for (const std::string policy : {"allkeys-lru", "volatile-ttl"}) {
        const Setting setting{redis, "maxmemory-policy", policy, "noeviction"};
        diagnosis = diagnose(redis.unix_url());
        CHECK(diagnosis.result("eviction") == "WARN");
        CHECK(diagnosis.text("eviction").find(policy) != std::string::npos);
    }
}

TEST_CASE("doctor: a replica is no place for locks, and its primary may lose some") {
    RedisServer primary;
    RedisServer replica({"--replicaof", "127.0.0.1", primary.port()});
    REQUIRE(eventually([&] {
        return replica.command({"INFO", "replication"})->find("master_link_status:up") !=
               std::string::npos;
    }));
    auto diagnosis = diagnose(replica.url());
    CHECK(diagnosis.status == 2);
    CHECK(diagnosis.result("role") == "FAIL");
    CHECK(diagnosis.findings.at("role").remedy.find("port " + primary.port()) != std::string::npos);
    CHECK(diagnosis.result("enter") == "FAIL");
    CHECK(diagnosis.text("enter").find("read-only replica") != std::string::npos);

    CHECK(diagnose(primary.url()).result("replicas") == "WARN");
    const Setting setting{primary, "min-replicas-to-write", "1", "0"};
    diagnosis = diagnose(primary.url());
    CHECK(diagnosis.result("replicas") == "OK");
    replica.kill();
    REQUIRE(eventually([&] {
        return primary.command({"SET", "k", "v"}).value_or("").starts_with("ERROR NOREPLICAS");
    }));
    diagnosis = diagnose(primary.url());
    CHECK(diagnosis.result("enter") == "FAIL");
    CHECK(diagnosis.text("enter").find("too few replicas") != std::string::npos);
}

TEST_CASE("doctor: a store that is not there is told in the lock's own words") {
    const auto url = "redis://127.0.0.1:" + free_port();
    const auto diagnosis = diagnose(url);
    CHECK(diagnosis.status == 2);
    CHECK(diagnosis.findings.size() == 1);
    auto run = sandbox_lock(url, {"agent:x", "--", "true"});
    CHECK(run.wait() == 69);
    CHECK(run.err() == "sandbox-lock: agent:x: " + diagnosis.text("reach") + "\n");
    CHECK(diagnosis.findings.at("reach").remedy.find("SANDBOX_LOCK_STORE") != std::string::npos);
}

TEST_CASE("doctor: logins") {
    const auto& redis = shared_redis();
    redis.command({"ACL", "SETUSER", "strict", "on", ">se:hunter2", "~*", "&*", "+@all"});
    auto diagnosis = diagnose("redis+unix://strict:se%3Ahunter2@" + redis.socket());
    CHECK(diagnosis.result("login") == "OK");
    CHECK(diagnosis.text("login").find("'strict'") != std::string::npos);
    diagnosis = diagnose("redis+unix://strict:wrong@" + redis.socket());
    CHECK(diagnosis.status == 2);
    CHECK(diagnosis.text("reach").find("refused the user name or password") != std::string::npos);
    CHECK(diagnosis.out.find("wrong") == std::string::npos);
    redis.command({"ACL", "DELUSER", "strict"});

    RedisServer closed;
    closed.command({"CONFIG", "SET", "requirepass", "hunter2"});
    diagnosis = diagnose(closed.url());
    CHECK(diagnosis.status == 2);
    CHECK(diagnosis.text("reach").find("wants a login") != std::string::npos);
    diagnosis = diagnose("redis://:hunter2@127.0.0.1:" + closed.port());
    CHECK(diagnosis.result("release") == "OK");
}

TEST_CASE("doctor: keys under another prefix alone") {
    const auto& redis = shared_redis();
    redis.command({"SET", "agentscope:guard:agent:java", "uuid", "PX", "60000"});
    auto diagnosis = diagnose(redis.unix_url());
    CHECK(diagnosis.result("keys") == "WARN");
    CHECK(diagnosis.findings.at("keys").remedy.find("--key-prefix agentscope:guard:") !=
          std::string::npos);
    CHECK(diagnose(redis.unix_url(), {"--key-prefix", "agentscope:guard"}).result("keys") == "OK");
    redis.command({"SET", key_of("agent:java"), "uuid", "PX", "60000"});
    CHECK(diagnose(redis.unix_url()).result("keys") == "OK");
    redis.command({"DEL", "agentscope:guard:agent:java", key_of("agent:java")});
}

TEST_CASE("doctor: settings that do not go together") {
    const auto url = shared_redis().unix_url();
    const auto lease = [&](Words options) {
        return diagnose(url, std::move(options)).result("lease");
    };
    CHECK(lease({}) == "OK");
    CHECK(lease({"--kill-after", "20s"}) == "WARN");
    CHECK(lease({"--kill-after", "20s", "--lease-ttl", "1m"}) == "OK");
    CHECK(lease({"--no-renew"}) == "WARN");
    CHECK(lease({"--no-renew", "--lease-ttl", "30m"}) == "OK");
}

TEST_CASE("doctor: TLS") {
    const auto& server = shared_tls_server();
    const auto cacert = server.authority.cert();
    // The test's certificates last for ten days.
    auto diagnosis = diagnose(server.url(), {"--cacert", cacert});
    CHECK(diagnosis.result("tls") == "WARN");
    CHECK(diagnosis.text("tls").find("localhost, 127.0.0.1") != std::string::npos);
    CHECK(diagnosis.text("tls").find("TLSv1.3") != std::string::npos);
    CHECK(diagnosis.text("tls").find("days are left") != std::string::npos);
    diagnosis = diagnose(server.url(), {"--tls-insecure"});
    CHECK(diagnosis.result("tls") == "WARN");
    CHECK(diagnosis.text("tls").find("nobody checks") != std::string::npos);
    diagnosis = diagnose(server.url());
    CHECK(diagnosis.status == 2);
    CHECK(diagnosis.text("reach").find("no authority that is trusted") != std::string::npos);
}

TEST_CASE("doctor: wrong use and wrong configuration") {
    const auto status = [](const std::string& url, const Words& arguments) {
        return sandbox_lock(url, arguments).wait();
    };
    CHECK(status("redis://h", {"doctor", "agent:x"}) == 64);
    CHECK(status("redis://h", {"doctor", "--acl", "--json"}) == 64);
    CHECK(status("file:", {"doctor", "--acl"}) == 64);
    CHECK(status("nonsense://h", {"doctor"}) == 78);
    CHECK(status("redis://h/x", {"doctor", "--acl"}) == 78);
    CHECK(status(shared_redis().url() + "/999999", {"doctor"}) == 78);
    CHECK(status("redis://h", {"doctor", "--help"}) == 0);
}

TEST_CASE("doctor: a signal ends it, and it leaves nothing behind") {
    RedisServer redis;
    redis.stop();
    auto silent = sandbox_lock(redis.url(), {"doctor"});
    REQUIRE(eventually([&] { return state_of(silent.pid()) == 'S'; }));
    silent.signal(SIGTERM);
    CHECK(silent.wait() == 143);
    CHECK(silent.out().empty());
    redis.resume();

    // Without messages, who waits polls; so there is time to come between.
    redis.command({"ACL", "SETUSER", "default", "-subscribe"});
    for (const int signal : {SIGINT, SIGHUP}) {
        auto trying = sandbox_lock(redis.unix_url(), {"doctor"});
        REQUIRE(eventually([&] { return redis.keys().find("}:presence") != std::string::npos; }));
        trying.signal(signal);
        CHECK(trying.wait() == 128 + signal);
        CHECK(redis.keys().empty());
    }
}

TEST_CASE("doctor: a directory of lock files") {
    const TempDir dir;
    auto diagnosis = diagnose("file:" + (dir / "locks"));
    CAPTURE(diagnosis.out);
    CHECK(diagnosis.status == 0);
    for (const char* check : {"directory", "users", "status", "lock"})
        CHECK(diagnosis.result(check) == "OK");
    CHECK(rmdir((dir / "locks").c_str()) == 0);  // it was empty

    REQUIRE(mkdir((dir / "open").c_str(), 0700) == 0);
    REQUIRE(chmod((dir / "open").c_str(), 0777) == 0);
    diagnosis = diagnose("file:" + (dir / "open"));
    CHECK(diagnosis.status == 2);
    CHECK(diagnosis.text("directory").find("chmod +t") != std::string::npos);
}
