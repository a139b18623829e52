// Redis by TLS: who is believed, who is not, and what is said of it. Real certificates, made by
// openssl(1), and a real server.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "guard/owner_card.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/server_route.hpp"
#include "store/redis/session.hpp"
#include "store/redis/tls.hpp"
#include "store/store.hpp"
#include "support/listening_socket.hpp"
#include "support/program.hpp"
#include "support/tls_server.hpp"

using namespace support;
using guard::BootClock;
using guard::Deadline;
using guard::Fault;
using guard::Wake;
using store::TlsAccess;

namespace {

class TestRun final : public guard::LeasedRun {
public:
    Wake wait(int fd, short events, Deadline until) override {
        while (BootClock::now() < until) {
            if (interrupt_at <= BootClock::now()) return Wake::interrupted;
            pollfd entry{fd, events, 0};
            if (::poll(&entry, 1, 1) > 0) return Wake::ready;
        }
        return Wake::timeout;
    }
    void extended(Deadline) override { ++renewals; }

    Deadline interrupt_at = guard::never;
    int renewals = 0;
};

struct Client {
    Client(const std::string& url, const TlsAccess& tls, guard::Duration ttl = 30s,
           guard::Duration connect_timeout = patience) {
        (void)signal(SIGPIPE, SIG_IGN);  // as the program blocks it
        claim = {key_of("agent:tls"), guard::make_token(guard::OwnerCard::of_this_process("test")),
                 ttl, true};
        auto opened = store::open({url, std::nullopt, connect_timeout, patience, 20ms, tls}, claim,
                                  [this](const guard::Report& r) { reports.push_back(r); });
        REQUIRE(opened);
        store = std::move(*opened);
    }
    auto enter() {
        return store->enter({.once = true}, run,
                            [](const store::Standing&) { return guard::never; });
    }
    auto release() { return store->release(guard::after(BootClock::now(), patience), undisturbed); }

    guard::Claim claim;
    std::unique_ptr<store::Store> store;
    TestRun run;
    TestRun undisturbed;
    std::vector<guard::Report> reports;
};

/// Enters and leaves; the error where that fails.
std::optional<guard::Error> error_with(const std::string& url, const TlsAccess& tls,
                                       guard::Duration connect_timeout = patience) {
    Client client(url, tls, 30s, connect_timeout);
    const auto lease = client.enter();
    if (!lease) return lease.error();
    CHECK(client.release());
    return std::nullopt;
}

void check_refused(const std::string& url, const TlsAccess& tls, Fault fault,
                   const std::vector<std::string>& says) {
    const auto error = error_with(url, tls);
    REQUIRE(error);
    CAPTURE(error->text);
    CHECK(error->fault == fault);
    CHECK(error->text.find('\n') == std::string::npos);
    for (const auto& words : says) {
        CAPTURE(words);
        CHECK(error->text.find(words) != std::string::npos);
    }
}

/// A server that is none: it takes every connection, and what it does with one is up to the test.
class Listener {
public:
    explicit Listener(std::function<void(int)> serve = {}) : serve_(std::move(serve)) {
        if (serve_) thread_ = std::thread([this] { run(); });
    }
    ~Listener() {
        // Wakes a thread in accept(2).
        shutdown(listening_.socket.get(), SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
        return "rediss://" + host + ":" + listening_.port;
    }
    [[nodiscard]] std::string plain_url() const { return "redis://127.0.0.1:" + listening_.port; }

private:
    void run() {
        for (;;) {
            const guard::Descriptor client{
                accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (!client) return;
            serve_(client.get());
        }
    }

    support::ListeningSocket listening_;
    std::function<void(int)> serve_;
    std::thread thread_;
};

std::string read_once(int fd) {
    std::array<char, 4096> buffer{};
    const auto got = read(fd, buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// The error of a handshake with a server that reads what comes, answers `answer` and closes.
std::optional<guard::Error> error_after(const std::string& answer) {
    const Listener listener([&](int fd) {
        (void)read_once(fd);
        (void)!write(fd, answer.data(), answer.size());
    });
    return error_with(listener.url(), {});
}

}  // namespace

TEST_CASE("TLS: enter, renew, release, with the host checked by name and by address") {
    auto& server = shared_tls_server();
    for (const std::string host : {"localhost", "127.0.0.1"}) {
        CAPTURE(host);
        Client client(server.url(host), {.cacert = server.authority.cert()}, 1s);
        const auto lease = client.enter();
        if (!lease) FAIL(lease.error().text);
        client.run.interrupt_at = BootClock::now() + 800ms;
        CHECK_FALSE(client.store->hold(*lease, client.run).lost);
        CHECK(client.run.renewals >= 1);
        CHECK(server.redis.command({"GET", client.claim.key}) == client.claim.token);
        CHECK(client.release());
        CHECK(server.redis.command({"EXISTS", client.claim.key}) == "0");
        CHECK(client.reports.empty());
    }
}

TEST_CASE("TLS: a connection that the server closes is noticed, and made again without the files") {
    auto& server = shared_tls_server();
    const TempDir dir;
    const TlsAccess access{.cacert = dir / "authority.pem"};
    std::filesystem::copy_file(server.authority.cert(), access.cacert);
    Client client(server.url(), access, 10s);
    const auto lease = client.enter();
    REQUIRE(lease);
    std::filesystem::remove(access.cacert);
    server.redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    client.run.interrupt_at = BootClock::now() + 1s;  // long before a third of the ttl
    CHECK_FALSE(client.store->hold(*lease, client.run).lost);
    CHECK(client.run.renewals == 1);
    CHECK(client.release());
}

TEST_CASE("TLS: a certificate that has expired") {
    auto& server = shared_tls_server();
    server.show(server.authority.issue_expired("DNS:localhost"));
    check_refused(server.url(), {.cacert = server.authority.cert()}, Fault::denied,
                  {server.url(), "the server's certificate expired on 20", "needs a new one"});
}

TEST_CASE("TLS: a certificate for others is refused, with the names that it has") {
    auto& server = shared_tls_server();
    const TlsAccess access{.cacert = server.authority.cert()};
    const Identity other =
        server.authority.issue("DNS:redis.example,DNS:*.redis.example,IP:192.0.2.1");
    server.show(other);
    const std::string names = "redis.example, *.redis.example, 192.0.2.1";
    check_refused(server.url(), access, Fault::denied,
                  {"not for 'localhost' but for " + names + ":", "--tls-server-name"});
    check_refused(server.url("127.0.0.1"), access, Fault::denied,
                  {"not for '127.0.0.1' but for " + names});
    auto named = access;
    for (const auto* name : {"redis.example", "any.redis.example", "redis.example.", "192.0.2.1"}) {
        named.server_name = name;
        CHECK_FALSE(error_with(server.url(), named));
    }
    for (const auto& name : {std::string("."), std::string(300, 'x')}) {
        named.server_name = name;
        check_refused(server.url(), named, Fault::configuration,
                      {"no name that a server can have"});
    }
    named.server_name = "192.0.2.2";
    check_refused(server.url(), named, Fault::denied, {"not for '192.0.2.2'"});

    // A name is no address, and an address is no name.
    server.show(server.authority.issue("DNS:127.0.0.1"));
    check_refused(server.url("127.0.0.1"), access, Fault::denied, {"not for '127.0.0.1'"});
    server.show(server.authority.issue(""));
    check_refused(server.url(), access, Fault::denied, {"names no host", "'localhost'"});
}

TEST_CASE("TLS: a certificate that nobody vouches for") {
    auto& server = shared_tls_server();
    Authority other("Other Authority");
    check_refused(server.url(), {}, Fault::denied,
                  {"CN=Test Authority", "no authority that is trusted here", "--cacert"});
    check_refused(server.url(), {.cacert = other.cert()}, Fault::denied,
                  {"CN=Test Authority", "--cacert '" + other.cert() + "' does not hold"});
    // Another authority of the same name has another key.
    Authority same;
    check_refused(server.url(), {.cacert = same.cert()}, Fault::denied, {"does not hold"});

    const Identity self = other.self_signed("DNS:localhost");
    server.show(self);
    check_refused(server.url(), {.cacert = other.cert()}, Fault::denied,
                  {"self-signed", "--cacert"});
    CHECK_FALSE(error_with(server.url(), {.cacert = self.cert}));
    // It need not be self-signed to be trusted by itself.
    server.show(server.good);
    CHECK_FALSE(error_with(server.url(), {.cacert = server.good.cert}));
}

TEST_CASE("TLS: with --tls-insecure any certificate will do, and that is told") {
    auto& server = shared_tls_server();
    server.show(Authority().issue_expired("DNS:redis.example"));
    Client client(server.url(), {.insecure = true});
    CHECK(client.enter());
    CHECK(client.release());
    REQUIRE(client.reports.size() == 1);
    CHECK(client.reports[0].event == "tls-insecure");
    CHECK(client.reports[0].level == guard::Level::warning);
}

TEST_CASE("TLS: a server that wants a client certificate") {
    auto& server = shared_tls_server();
    Authority other("Other Authority");
    const auto cacert = server.authority.cert();
    for (const std::string version : {"TLSv1.2", "TLSv1.3"}) {
        CAPTURE(version);
        server.speak(version);
        server.ask_clients("yes");
        check_refused(server.url(), {.cacert = cacert}, Fault::denied,
                      {"wants a client certificate", "--cert and --key"});
        const Identity foreign = other.issue("");
        check_refused(server.url(), {.cacert = cacert, .cert = foreign.cert, .key = foreign.key},
                      Fault::denied, {"refuses the certificate", foreign.cert, "unknown CA"});
        const Identity own = server.authority.issue("");
        CHECK_FALSE(error_with(server.url(), {.cacert = cacert, .cert = own.cert, .key = own.key}));
        server.ask_clients("optional");
        CHECK_FALSE(error_with(server.url(), {.cacert = cacert}));
    }
}

TEST_CASE("TLS: files that are no good") {
    auto& server = shared_tls_server();
    const auto cacert = server.authority.cert();
    const Identity own = server.authority.issue("");
    const Identity another = server.authority.issue("");
    const auto text = server.authority.file("no PEM\n");
    const auto broken =
        server.authority.file("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    const auto encrypted = server.authority.encrypted_key(own);
    const std::string none = "/nonexistent/file";
    const auto check = [&](const TlsAccess& access, const std::vector<std::string>& says) {
        check_refused(server.url(), access, Fault::configuration, says);
        // Also where the server is down: nothing is connected before.
        check_refused("rediss://localhost:1", access, Fault::configuration, says);
    };
    check({.cacert = none}, {"--cacert '" + none + "': No such file"});
    check({.cacert = "/"}, {"--cacert '/': Is a directory"});
    check({.cacert = text}, {"--cacert '" + text, "no certificates in PEM form"});
    check({.cacert = broken}, {"--cacert '" + broken, "no certificates in PEM form"});
    check({.cacert = cacert, .cert = own.cert}, {"--cert '" + own.cert, "give it by --key"});
    check({.cacert = cacert, .key = own.key}, {"--key '" + own.key, "give it by --cert"});
    check({.cacert = cacert, .cert = none, .key = own.key}, {"--cert '" + none + "': No such"});
    check({.cacert = cacert, .cert = text, .key = own.key}, {"--cert '" + text, "no certificate"});
    check({.cacert = cacert, .cert = own.cert, .key = none}, {"--key '" + none + "': No such"});
    check({.cacert = cacert, .cert = own.cert, .key = text}, {"--key '" + text, "no private key"});
    check({.cacert = cacert, .cert = own.cert, .key = another.key},
          {"--key '" + another.key, "not the key of the certificate in --cert '" + own.cert});
    check({.cacert = cacert, .cert = own.cert, .key = encrypted},
          {"--key '" + encrypted, "encrypted", "openssl pkey"});
}

TEST_CASE("TLS: a server that speaks something else") {
    auto& server = shared_tls_server();
    // A plain Redis waits for the rest of what it takes for a command, so it has to be found out.
    const auto plain = error_with("rediss://localhost:" + server.redis.port(), {}, 4s);
    REQUIRE(plain);
    CHECK(plain->fault == Fault::configuration);
    CHECK(plain->text.find("does not speak TLS on this port") != std::string::npos);
    CHECK(plain->text.find("redis://") != std::string::npos);
    for (const std::string answer : {"-DENIED Redis is running in protected mode\r\n", "+OK\r\n",
                                     "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-Server\r\n"}) {
        CAPTURE(answer);
        const auto error = error_after(answer);
        REQUIRE(error);
        CHECK(error->fault == Fault::configuration);
        CHECK(error->text.find("does not speak TLS") != std::string::npos);
    }
}

TEST_CASE("a server that answers a command with something else is told of as no Redis") {
    const Listener listener([](int fd) {
        (void)read_once(fd);
        constexpr std::string_view answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
        (void)!write(fd, answer.data(), answer.size());
        (void)read_once(fd);
    });
    check_refused(listener.plain_url(), {}, Fault::unreachable,
                  {"does not speak Redis's protocol"});
}

TEST_CASE("TLS: a plain URL to a TLS port is told of rediss://") {
    auto& server = shared_tls_server();
    Client client("redis://127.0.0.1:" + server.port(), {}, 30s, 500ms);
    const auto lease = client.enter();
    REQUIRE_FALSE(lease);
    CHECK(lease.error().fault == Fault::unreachable);
    CHECK(lease.error().text.find("rediss://") != std::string::npos);
}

TEST_CASE("TLS: options for it with a plain URL are refused; a socket needs none") {
    auto& server = shared_tls_server();
    const TlsAccess access{.cacert = server.authority.cert()};
    const auto opened =
        store::open({server.redis.url(), std::nullopt, 1s, 1s, 20ms, access}, {}, {});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().fault == Fault::configuration);
    CHECK(opened.error().text.find("rediss://") != std::string::npos);
    CHECK_FALSE(error_with(server.redis.unix_url(), access));
}

TEST_CASE("TLS: a host that accepts and says nothing: interrupted at once, given up in time") {
    const Listener silent;
    Client client(silent.url(), {}, 30s, 1s);
    SUBCASE("interrupted") {
        client.run.interrupt_at = BootClock::now() + 100ms;
    }
    SUBCASE("interrupted while it is found out") {
        client.run.interrupt_at = BootClock::now() + 350ms;
    }
    SUBCASE("given up") {}
    const Stopwatch watch;
    const auto lease = client.enter();
    REQUIRE_FALSE(lease);
    const bool interrupted = client.run.interrupt_at != guard::never;
    CHECK(lease.error().fault == (interrupted ? Fault::interrupted : Fault::unreachable));
    if (!interrupted) {
        CHECK(lease.error().text.find("does not answer the TLS handshake") != std::string::npos);
        CHECK(watch.seconds() >= 0.9);
    }
    CHECK(watch.seconds() < 10);
}

TEST_CASE("TLS: a server that closes, or breaks off, in the middle of the handshake") {
    // Nothing, half a record's head, and half of a record.
    for (const auto& answer : {std::string(), std::string("\x16\x03"),
                               std::string("\x16\x03\x03\x00\x7a\x02\x00\x00\x76", 9)}) {
        const auto error = error_after(answer);
        REQUIRE(error);
        CAPTURE(error->text);
        CHECK(error->fault == Fault::unreachable);
        CHECK(error->text.find("closed the connection during the TLS handshake") !=
              std::string::npos);
    }
}

TEST_CASE("TLS: the name is told to the server, an address is not") {
    for (const std::string host : {"localhost", "127.0.0.1"}) {
        std::string hello;
        {
            const Listener listener([&](int fd) { hello = read_once(fd); });
            REQUIRE(error_with(listener.url(host), {}));
        }
        CAPTURE(host);
        REQUIRE(hello.size() > 100);
        CHECK((hello.find(host) != std::string::npos) == (host == "localhost"));
    }
}

TEST_CASE("TLS: a message that comes in one piece with a reply is not missed") {
    auto& server = shared_tls_server();
    std::string url;
    SUBCASE("plain") {
        url = server.redis.url();
    }
    SUBCASE("TLS") {
        url = server.url();
    }
    const auto parsed = store::Url::parse(url);
    REQUIRE(parsed);
    auto endpoint = store::redis::Endpoint::from(*parsed, std::nullopt);
    REQUIRE(endpoint);
    if (parsed->scheme == "rediss")
        REQUIRE(store::redis::add_tls(*endpoint, *parsed, {.cacert = server.authority.cert()}, {}));
    store::redis::Session session{store::redis::route_to(*endpoint)};
    TestRun run;
    const auto limit = [] { return guard::after(BootClock::now(), patience); };
    REQUIRE(session.connect(limit(), run));
    const auto listens = session.subscribe("news", limit(), run);
    REQUIRE((listens && *listens));

    // The server wakes up when both are there, the request and what publishes the message.
    class Late final : public guard::Poller {
    public:
        explicit Late(RedisServer& redis)
            : redis_(redis), publisher_(redisConnectUnix(redis.socket().c_str()), redisFree) {}
        Wake wait(int fd, short events, Deadline until) override {
            if (!std::exchange(awake_, true)) {
                redisAppendCommand(publisher_.get(), "PUBLISH news word");
                int done = 0;
                REQUIRE(redisBufferWrite(publisher_.get(), &done) == REDIS_OK);
                redis_.resume();
                void* answer = nullptr;
                REQUIRE(redisGetReply(publisher_.get(), &answer) == REDIS_OK);
                freeReplyObject(answer);
            }
            return run_.wait(fd, events, until);
        }

    private:
        RedisServer& redis_;
        std::unique_ptr<redisContext, void (*)(redisContext*)> publisher_;
        TestRun run_;
        bool awake_ = false;
    };
    Late late{server.redis};
    server.redis.stop();
    const auto reply = session.request({"ECHO", "reply"}, limit(), late);
    server.redis.resume();
    REQUIRE(reply);
    CHECK(store::redis::text_of(**reply) == "reply");
    CHECK(session.idle(limit(), run) == Wake::ready);
    const auto push = session.next_push();
    REQUIRE(push);
    CHECK(store::redis::text_at(*push, 2) == "word");
}

TEST_CASE("TLS: large requests and replies, also when they come late") {
    auto& server = shared_tls_server();
    const auto url = store::Url::parse(server.url());
    REQUIRE(url);
    auto endpoint = store::redis::Endpoint::from(*url, std::nullopt);
    REQUIRE(endpoint);
    REQUIRE(store::redis::add_tls(*endpoint, *url, {.cacert = server.authority.cert()}, {}));
    TestRun run;
    const auto limit = [] { return guard::after(BootClock::now(), patience); };
    auto connection = store::redis::Connection::open(*endpoint, limit(), run);
    REQUIRE(connection);
    const auto ask = [&](const std::vector<std::string_view>& words) {
        auto reply = connection->request(words, limit(), run);
        REQUIRE(reply);
        return std::string(store::redis::text_of(**reply));
    };
    for (const std::size_t size : {16383U, 16384U, 16385U, 5'000'000U}) {
        std::string value(size, 'v');
        for (std::size_t i = 0; i < size; i += 97) value[i] = static_cast<char>(i % 251);
        CHECK(ask({"SET", "large", value}) == "OK");
        CHECK((ask({"GET", "large"}) == value));
    }
    // Nobody waits for this answer; the next one is still the right one.
    run.interrupt_at = BootClock::now();
    const std::array<std::string_view, 2> get{"GET", "large"};
    CHECK_FALSE(connection->request(get, limit(), run));
    run.interrupt_at = guard::never;
    CHECK(ask({"ECHO", "next"}) == "next");
    server.redis.command({"DEL", "large"});
}
