// TLS as the user meets it: options, messages, exit statuses, signals.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "support/listening_socket.hpp"
#include "support/program.hpp"
#include "support/tls_server.hpp"

using namespace support;

namespace {

struct Outcome {
    int status;
    std::string err;
};

Outcome run(const std::string& url, std::vector<std::string> options,
            const std::vector<std::string>& environment = {}) {
    options.insert(options.end(), {"agent:tls", "--", "true"});
    auto process = sandbox_lock(url, options, {.environment = environment});
    const int status = process.wait();
    return {status, process.err()};
}

/// One line that holds `says`, and `status`.
void check_told(const Outcome& outcome, int status, const std::string& says) {
    CAPTURE(outcome.err);
    CHECK(outcome.status == status);
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    CHECK(outcome.err.find(says) != std::string::npos);
}

/// Accepts connections, by the kernel, and says nothing.
class SilentHost {
public:
    [[nodiscard]] std::string url() const { return "rediss://127.0.0.1:" + host_.port; }
    /// Whether somebody has connected and sent something.
    [[nodiscard]] bool has_heard() {
        client_ = guard::Descriptor{accept4(host_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        char byte = '\0';
        return recv(client_.get(), &byte, 1, 0) == 1;
    }

private:
    ListeningSocket host_;
    guard::Descriptor client_;
};

}  // namespace

TEST_CASE("TLS options: by long and short name, variable and configuration file") {
    auto& server = shared_tls_server();
    server.ask_clients("yes");
    const auto cacert = server.authority.cert();
    const Identity own = server.authority.issue("");
    const TempDir dir;
    write_file(dir / "tls.toml", "tls-cacert = \"" + cacert + "\"\ntls-cert = \"" + own.cert +
                                     "\"\ntls-key = \"" + own.key +
                                     "\"\ntls-server-name = \"localhost\"\n");
    const std::vector<std::vector<std::string>> forms{
        {"--tls-cacert", cacert, "--tls-cert=" + own.cert, "--tls-key", own.key},
        {"--cacert=" + cacert, "--cert", own.cert, "--key=" + own.key, "--tls-server-name",
         "localhost"},
        {"--config", dir / "tls.toml"},
    };
    for (const auto& options : forms) {
        const auto outcome = run(server.url("127.0.0.1"), options);
        CHECK(outcome.err == "");
        CHECK(outcome.status == 0);
    }
    const auto outcome =
        run(server.url(), {},
            {"SANDBOX_LOCK_TLS_CACERT=" + cacert, "SANDBOX_LOCK_TLS_CERT=" + own.cert,
             "SANDBOX_LOCK_TLS_KEY=" + own.key});
    CHECK(outcome.err == "");
    CHECK(outcome.status == 0);
}

TEST_CASE("TLS: a nested call takes no key file from the variable that holds the slot") {
    auto& server = shared_tls_server();
    const auto outer = [&](const std::string& slot) {
        auto process = sandbox_lock(
            server.url(), {"--cacert", server.authority.cert(), "agent:outer", "--", program_path(),
                           "--cacert", server.authority.cert(), slot, "--", "true"});
        const int status = process.wait();
        CHECK(process.err() == "");
        return status;
    };
    CHECK(outer("agent:outer") == 0);
    CHECK(outer("agent:inner") == 0);
}

TEST_CASE("TLS: the system's authorities are those that OpenSSL is told of") {
    auto& server = shared_tls_server();
    check_told(run(server.url(), {}), 77, "no authority that is trusted here");
    CHECK(run(server.url(), {}, {"SSL_CERT_FILE=" + server.authority.cert()}).status == 0);
    // --cacert takes their place.
    const Authority other("Other Authority");
    check_told(
        run(server.url(), {"--cacert", other.cert()}, {"SSL_CERT_FILE=" + server.authority.cert()}),
        77, "does not hold that authority");
}

TEST_CASE("TLS: faults in one line, each with its status") {
    auto& server = shared_tls_server();
    const std::vector<std::string> trust{"--cacert", server.authority.cert()};
    const auto url = server.url("user:hunter2@localhost");
    check_told(run(server.url(), {"--cacert", "/nonexistent"}), 78, "--cacert '/nonexistent'");
    check_told(run("rediss://:hunter2@localhost:" + server.redis.port(), trust), 78,
               "does not speak TLS on this port");
    check_told(run("rediss://:hunter2@localhost:" + free_port(), trust), 69, "Connection refused");
    server.show(server.authority.issue_expired("DNS:localhost"));
    check_told(run(url, trust), 77, "expired on");
    server.show(server.authority.issue("DNS:redis.example"));
    check_told(run(url, trust), 77, "not for 'localhost' but for redis.example");
    server.show(server.authority.self_signed("DNS:localhost"));
    check_told(run(url, trust), 77, "self-signed");
    server.show(server.good);
    server.ask_clients("yes");
    check_told(run(url, trust), 77, "wants a client certificate");
    server.reset();
    const auto plain =
        run("redis://:hunter2@127.0.0.1:" + server.port(), {"--connect-timeout", "300ms"});
    CHECK(plain.status == 69);
    CHECK(plain.err.find("wants TLS and the URL needs rediss://") != std::string::npos);
}

TEST_CASE("TLS: what is in a certificate cannot forge a line") {
    auto& server = shared_tls_server();
    server.show(server.authority.issue("DNS:x\x1b[2J"));
    const auto outcome = run(server.url(), {"--cacert", server.authority.cert()});
    check_told(outcome, 77, "not for 'localhost' but for x");
    CHECK(outcome.err.find('\x1b') == std::string::npos);
}

TEST_CASE("TLS: --tls-insecure warns in each run") {
    auto& server = shared_tls_server();
    for (int i = 0; i < 2; ++i)
        check_told(run(server.url("127.0.0.1"), {"--tls-insecure"}), 0,
                   "nobody checks the server's certificate");
    check_told(run(server.url(), {}, {"SANDBOX_LOCK_TLS_INSECURE=yes"}), 0, "nobody checks");
    CHECK(run(server.url(), {"--tls-insecure", "-q"}).err == "");
}

TEST_CASE("TLS: status and break go by it, too") {
    auto& server = shared_tls_server();
    const auto inspect = [&](std::vector<std::string> words, const std::string& option,
                             const std::string& value = {}) {
        words.push_back(option);
        if (!value.empty()) words.push_back(value);
        words.emplace_back("agent:inspected");
        auto process = sandbox_lock(server.url(), words);
        const int status = process.wait();
        return std::pair{status, process.out() + process.err()};
    };
    const auto cacert = server.authority.cert();
    auto holder =
        sandbox_lock(server.url(), {"--cacert", cacert, "--lease-ttl", "1s", "agent:inspected",
                                    "--", "sh", "-c", "echo in; exec sleep 1000"});
    REQUIRE(eventually([&] { return holder.out() == "in\n"; }));
    const auto [status, text] = inspect({"status"}, "--cacert", cacert);
    CHECK(status == 0);
    CHECK(text.find("agent:inspected") != std::string::npos);
    CHECK(inspect({"status", "-q"}, "--cacert", cacert).first == 1);
    const auto insecure = inspect({"status"}, "--tls-insecure");
    CHECK(insecure.first == 0);
    CHECK(insecure.second.find("nobody checks") != std::string::npos);
    CHECK(inspect({"status"}, "--tls-server-name", "other").first == 77);
    const auto token = server.redis.command({"GET", key_of("agent:inspected")}).value_or("");
    CHECK(inspect({"break", "--token", token}, "--cacert", cacert).first == 0);
    CHECK(holder.wait() == 79);
}

TEST_CASE("TLS: a signal ends the handshake with a host that says nothing") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        CAPTURE(signal);
        SilentHost host;
        auto process = sandbox_lock(host.url(), {"--connect-timeout", "1h", "agent:tls", "true"});
        REQUIRE(host.has_heard());
        const Stopwatch watch;
        process.signal(signal);
        CHECK(process.wait() == 128 + signal);
        CHECK(watch.seconds() < 10);
        CHECK(process.err().find("nothing was run") != std::string::npos);
    }
}

TEST_CASE("TLS: a host that says nothing is given up in time") {
    const SilentHost host;
    check_told(run(host.url(), {"--connect-timeout", "400ms"}), 69,
               "does not answer the TLS handshake");
    check_told(run(host.url(), {"-w", "400ms"}), 69, "does not answer the TLS handshake");
}
