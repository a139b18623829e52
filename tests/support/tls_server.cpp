#include "support/tls_server.hpp"

#include <stdexcept>

namespace support {

TlsServer::TlsServer()
    : good(authority.issue("DNS:localhost,IP:127.0.0.1")),
      port_(free_port()),
      redis({"--tls-port", port_, "--tls-auth-clients", "no", "--tls-cert-file", good.cert,
             "--tls-key-file", good.key, "--tls-ca-cert-file", authority.cert()}) {}

void TlsServer::configure(const std::vector<std::string>& names_and_values) const {
    std::vector<std::string> words{"CONFIG", "SET"};
    words.insert(words.end(), names_and_values.begin(), names_and_values.end());
    if (const auto answer = redis.command(words); answer != "OK")
        throw std::runtime_error("redis-server refuses " + words[2] + ": " + answer.value_or(""));
}

void TlsServer::show(const Identity& identity) const {
    configure({"tls-cert-file", identity.cert, "tls-key-file", identity.key});
}

void TlsServer::ask_clients(const std::string& demand) const {
    configure({"tls-auth-clients", demand});
}

void TlsServer::speak(const std::string& versions) const {
    configure({"tls-protocols", versions});
}

void TlsServer::reset() const {
    show(good);
    ask_clients("no");
    speak("");
}

TlsServer& shared_tls_server() {
    static TlsServer server;
    server.reset();
    return server;
}

}  // namespace support
