// User names and passwords of every sort, on real users of a real server, plain and by TLS.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/secret.hpp"
#include "support/tls_server.hpp"

using namespace support;

namespace {

struct Login {
    std::string user;
    std::string password;
};

/// All printable characters, control characters that one line can hold, bytes that are no UTF-8,
/// and what URLs, shells, printf and configuration files make something of.
std::vector<Login> logins() {
    const std::string secret{secret_mark};
    std::string printable;
    for (char c = '!'; c <= '~'; ++c) printable += c;
    std::string high;
    for (int byte = 0x80; byte <= 0xff; ++byte) high += static_cast<char>(byte);
    return {
        {"all", printable + secret},
        {printable, "simple-" + secret},
        {"high", high + secret},
        {"blanks", "  two " + secret + " words \t "},
        {"control", "\x01\x1b[2J\x7f" + secret},
        {"utf8-\xc3\xbc", secret + "p\xc3\xa4ssw\xc3\xb6rt \xe6\x97\xa5\xe6\x9c\xac"},
        {"user@host", "p@ss@word" + secret},
        {"a:b", ":colon:first" + secret},
        {"percent", "100%25" + secret + "%zz%"},
        {"plus", "a+b=c&d?e#f/g\\h" + secret},
        {"quotes", "\"'`$(id)" + secret + "%s%n{}"},
        {"url", "redis://user:" + secret + "@host:1/0?db=1#x"},
        {"long", std::string(4096, 'x') + secret + "!"},
    };
}

std::string percent_encoded(const std::string& text) {
    static const char* const digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

/// The least that must be encoded by hand: see the manual page.
std::string encoded_where_needed(const std::string& text) {
    std::string encoded;
    for (const char c : text)
        encoded += std::string("%/?#").find(c) == std::string::npos ? std::string(1, c)
                                                                    : percent_encoded({c});
    return encoded;
}

/// A way to the server: its URL without login, and the options that go with it.
struct Way {
    std::string scheme;
    std::string rest;
    std::vector<std::string> options;

    [[nodiscard]] std::string url(const std::string& login) const {
        return scheme + "://" + (login.empty() ? "" : login + "@") + rest;
    }
};

/// By address: each name look-up is a process more.
std::vector<Way> ways_to(const TlsServer& server) {
    return {{"redis", "127.0.0.1:" + server.redis.port(), {}},
            {"redis+unix", server.redis.socket(), {}},
            {"rediss", "127.0.0.1:" + server.port(), {"--cacert", server.authority.cert()}}};
}

/// Runs a command that says `in`. Where the password shows meanwhile, support::Process tells.
void check_login(const std::string& url, std::vector<std::string> options,
                 const std::vector<std::string>& environment = {}) {
    options.insert(options.end(),
                   {"-v", "agent:login", "--", "sh", "-c", "echo in; exec sleep 1000"});
    auto run = sandbox_lock(url, options, {.environment = environment});
    REQUIRE(eventually([&] { return run.out() == "in\n" || run.ended(); }));
    CAPTURE(run.err());
    CHECK(run.out() == "in\n");
    run.signal(SIGTERM);
    CHECK(run.wait() == 143);
}

/// A login that is refused.
void check_refused(const std::string& url, std::vector<std::string> options,
                   const std::vector<std::string>& environment = {}) {
    options.insert(options.end(), {"-v", "agent:login", "--", "true"});
    auto run = sandbox_lock(url, options, {.environment = environment});
    CHECK(run.wait() == 77);
    CAPTURE(run.err());
    CHECK(run.err().find("refused the user name or password") != std::string::npos);
}

}  // namespace

TEST_CASE("logins: all special characters, in URL, password file and variable") {
    auto& server = shared_tls_server();
    const TempDir dir;
    const std::string file = dir / "password";
    for (const auto& [user, password] : logins()) {
        CAPTURE(user);
        REQUIRE(server.redis.command({"ACL", "SETUSER", user, "reset", "on", ">" + password, "~*",
                                      "+@all"}) == "OK");
        write_file(file, password + "\n");
        chmod(file.c_str(), 0600);
        const auto name = percent_encoded(user);
        for (const auto& way : ways_to(server)) {
            CAPTURE(way.scheme);
            check_login(way.url(name + ":" + percent_encoded(password)), way.options);
            check_login(way.url(name + ":" + encoded_where_needed(password)), way.options);
            auto by_file = way.options;
            by_file.insert(by_file.end(), {"--password-file", file});
            check_login(way.url(name), by_file);
            check_login(way.url(name), way.options, {"REDISCLI_AUTH=" + password});
        }
        server.redis.command({"ACL", "DELUSER", user});
    }
}

TEST_CASE("logins: the same on the command line") {
    auto& server = shared_tls_server();
    for (const auto& [user, password] : logins()) {
        CAPTURE(user);
        REQUIRE(server.redis.command({"ACL", "SETUSER", user, "reset", "on", ">" + password, "~*",
                                      "+@all"}) == "OK");
        for (const auto& way : ways_to(server)) {
            CAPTURE(way.scheme);
            auto options = way.options;
            options.insert(options.end(), {"--store", way.url(percent_encoded(user) + ":" +
                                                              encoded_where_needed(password))});
            check_login("", options);
        }
        server.redis.command({"ACL", "DELUSER", user});
    }
}

TEST_CASE("logins: the password of the user `default` needs no name") {
    TlsServer server;
    const std::string password = "p:/@ %#?\xff" + std::string(secret_mark);
    server.redis.command({"ACL", "SETUSER", "default", "resetpass", ">" + password});
    for (const auto& way : ways_to(server)) {
        CAPTURE(way.scheme);
        check_login(way.url(":" + percent_encoded(password)), way.options);
        check_login(way.url("default:" + percent_encoded(password)), way.options);
        check_login(way.url(""), way.options, {"REDISCLI_AUTH=" + password});
    }
}

TEST_CASE("logins: a wrong password is refused and shown nowhere") {
    auto& server = shared_tls_server();
    const TempDir dir;
    const std::string file = dir / "password";
    for (const auto& [user, password] : logins()) {
        CAPTURE(user);
        const auto wrong = password + "-wrong";
        REQUIRE(server.redis.command({"ACL", "SETUSER", user, "reset", "on", ">" + password, "~*",
                                      "+@all"}) == "OK");
        const auto name = percent_encoded(user);
        write_file(file, wrong + "\n");
        chmod(file.c_str(), 0600);
        for (const auto& way : ways_to(server)) {
            CAPTURE(way.scheme);
            check_refused(way.url(name + ":" + percent_encoded(wrong)), way.options);
            auto by_file = way.options;
            by_file.insert(by_file.end(), {"--password-file", file});
            check_refused(way.url(name), by_file);
            check_refused(way.url(name), way.options, {"REDISCLI_AUTH=" + wrong});
        }
        server.redis.command({"ACL", "DELUSER", user});
    }
}
