#include "store/redis/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "guard/descriptor.hpp"
#include "store/redis/certificates.hpp"
#include "store/redis/openssl_start.hpp"

namespace store::redis {
namespace {

using guard::BootClock;
using guard::Deadline;
using guard::Descriptor;
using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;
using guard::Wake;

struct FreeSsl {
    void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};

/// One connection's TLS. It is the `privctx` of its hiredis context, and the app data of its SSL.
struct Link {
    std::unique_ptr<SSL, FreeSsl> ssl;
    TlsAccess access;
    std::string name;
    bool certificate_wanted = false;  ///< the server has asked for ours, and we have none
    bool heard = false;               ///< the server has sent data, so it has accepted us
    std::optional<Error> refused;     ///< why we do not take the server
    std::optional<Error> fault;       ///< what has ended the connection
};

Link& link_of(const SSL* ssl) noexcept {
    return *static_cast<Link*>(SSL_get_app_data(ssl));
}

Error unreachable(std::string why) {
    return {Fault::unreachable, std::move(why)};
}

/// What OpenSSL says about itself: it has no memory, or its own configuration is wrong.
Error broken_openssl() {
    const char* words = ERR_reason_error_string(ERR_peek_last_error());
    return {Fault::internal, std::string("OpenSSL: ") + (words == nullptr ? "no reason" : words)};
}

/// OpenSSL's verification asks here with `fine` 0 for each thing that is wrong; the first counts.
int note_refusal(int fine, X509_STORE_CTX* verification) noexcept {
    if (fine == 1) return 1;
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
    Link& link = link_of(ssl);
    if (!link.refused) link.refused = refusal(*verification, link.access, link.name);
    return 0;
}

/// Called where the server asks for a certificate and none is given.
int note_certificate_wanted(SSL* ssl, X509**, EVP_PKEY**) noexcept {
    link_of(ssl).certificate_wanted = true;
    return 0;
}

/// What an alert of the server tells about us: RFC 8446, section 6.2.
Error alerted(const Link& link, int alert) {
    const std::string said = std::string(" (") + SSL_alert_desc_string_long(alert) + ")";
    // TLS 1.2 has no alert of its own for a certificate that is missing.
    if (alert == SSL_AD_CERTIFICATE_REQUIRED ||
        (alert == SSL_AD_HANDSHAKE_FAILURE && link.certificate_wanted))
        return {Fault::denied,
                "the server wants a client certificate: give one by --cert and --key"};
    switch (alert) {
        case SSL_AD_BAD_CERTIFICATE:
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
        case SSL_AD_CERTIFICATE_REVOKED:
        case SSL_AD_CERTIFICATE_EXPIRED:
        case SSL_AD_CERTIFICATE_UNKNOWN:
        case SSL_AD_UNKNOWN_CA:
        case SSL_AD_ACCESS_DENIED:
        case SSL_AD_DECRYPT_ERROR:
            return {Fault::denied, "the server refuses the certificate that is given by --cert '" +
                                       link.access.cert + "'" + said +
                                       ": give one from an authority that it trusts"};
        case SSL_AD_HANDSHAKE_FAILURE:
        case SSL_AD_PROTOCOL_VERSION:
        case SSL_AD_INSUFFICIENT_SECURITY:
            return {Fault::denied,
                    "the server offers no TLS version (1.2 or newer) and cipher that can be used "
                    "here" +
                        said};
        case SSL_AD_UNRECOGNIZED_NAME:
            return {Fault::denied, "the server has no certificate for '" + link.name +
                                       "': give a name that it knows by --tls-server-name"};
        default:
            return unreachable("the server ended the TLS connection" + said);
    }
}

std::string how_closed(const Link& link) {
    if (SSL_is_init_finished(link.ssl.get()) == 0)
        return "the server closed the connection during the TLS handshake";
    // In TLS 1.3 it looks at our certificate, or misses it, after our side of the handshake.
    if (link.certificate_wanted && !link.heard)
        return "the server closed the connection without an answer; it has asked for a client "
               "certificate, which --cert and --key would give";
    return "the server closed the connection";
}

/// Why an operation of OpenSSL failed for good. `kind` is SSL_get_error(3)'s.
Error fault_of(const Link& link, int kind) {
    if (link.refused) return *link.refused;
    const int system = errno;
    const unsigned long code = ERR_peek_error();
    const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    if (reason > SSL_AD_REASON_OFFSET) return alerted(link, reason - SSL_AD_REASON_OFFSET);
    const bool closed =
        kind == SSL_ERROR_ZERO_RETURN || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (closed ||
        (kind == SSL_ERROR_SYSCALL && (system == 0 || system == ECONNRESET || system == EPIPE)))
        return unreachable(how_closed(link));
    if (kind == SSL_ERROR_SYSCALL) return unreachable(std::strerror(system));
    const char* words = ERR_reason_error_string(code);
    return unreachable(std::string("TLS fails: ") + (words == nullptr ? "unknown error" : words));
}

Error not_tls() {
    return {Fault::configuration,
            "the server does not speak TLS on this port: give its TLS port, or a URL with redis:// "
            "if the network may see the password"};
}

bool waits(int kind) noexcept {
    return kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE;
}

ssize_t failed(redisContext& context) noexcept {
    context.err = REDIS_ERR_OTHER;
    return -1;
}

/// The end of one of hiredis's functions that moved nothing: 0 if it may later, else -1.
ssize_t moved_nothing(redisContext& context, Link& link, int result) {
    const int kind = SSL_get_error(link.ssl.get(), result);
    if (waits(kind)) return 0;
    link.fault = fault_of(link, kind);
    return failed(context);
}

/// Behind a write that failed may lie the alert by which the server has said why it closed.
void hear_last_words(Link& link) {
    const int system = errno;
    char last = '\0';
    std::size_t got = 0;
    if (const int result = SSL_read_ex(link.ssl.get(), &last, 1, &got); result != 1) {
        const int kind = SSL_get_error(link.ssl.get(), result);
        if (kind == SSL_ERROR_SSL) link.fault = fault_of(link, kind);
    }
    errno = system;
}

// OpenSSL gives one record at a time, of at most 16 KiB (RFC 8446, section 5.1), which is what
// hiredis reads at once; and it takes no more from the socket than that record (it does not read
// ahead). So whatever is still to be read makes the socket readable, as hiredis's callers expect.
ssize_t read_some(redisContext* context, char* buffer, std::size_t size) {
    Link& link = *static_cast<Link*>(context->privctx);
    ERR_clear_error();
    errno = 0;
    std::size_t got = 0;
    const int result = SSL_read_ex(link.ssl.get(), buffer, size, &got);
    if (result != 1) return moved_nothing(*context, link, result);
    link.heard = true;
    return static_cast<ssize_t>(got);
}

ssize_t write_some(redisContext* context) {
    Link& link = *static_cast<Link*>(context->privctx);
    ERR_clear_error();
    errno = 0;
    std::size_t put = 0;
    const int result = SSL_write_ex(link.ssl.get(), context->obuf, sdslen(context->obuf), &put);
    if (result == 1) return static_cast<ssize_t>(put);
    if (SSL_get_error(link.ssl.get(), result) == SSL_ERROR_SYSCALL) hear_last_words(link);
    return link.fault ? failed(*context) : moved_nothing(*context, link, result);
}

/// The TLS connection is not closed by a word of its own: nothing that counts can be cut off at its
/// end, since every reply tells its length.
void close_socket(redisContext* context) {
    Descriptor{std::exchange(context->fd, REDIS_INVALID_FD)}.reset();
}

void free_link(void* link) {
    const std::unique_ptr<Link> owner{static_cast<Link*>(link)};
}

constexpr redisContextFuncs functions{.close = close_socket,
                                      .free_privctx = free_link,
                                      .async_read = nullptr,
                                      .async_write = nullptr,
                                      .read = read_some,
                                      .write = write_some};

/// Whether a second connection to the same address gets an answer in Redis's own protocol. Nothing
/// secret is sent.
bool answers_in_plain(int connected, Deadline until, Poller& poller) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (getpeername(connected, name, &length) != 0) return false;
    const Descriptor probe{
        ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!probe || (::connect(probe.get(), name, length) != 0 && errno != EINPROGRESS)) return false;
    if (poller.wait(probe.get(), POLLOUT, until) != Wake::ready) return false;
    constexpr std::string_view ping = "PING\r\n";
    if (::send(probe.get(), ping.data(), ping.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(ping.size()))
        return false;
    if (poller.wait(probe.get(), POLLIN, until) != Wake::ready) return false;
    char first = '\0';
    return ::recv(probe.get(), &first, 1, 0) == 1 && (first == '+' || first == '-');
}

/// Waits for what the handshake needs next. A plain Redis takes the start of a handshake for a
/// command that is not complete yet and waits, too; so after a quarter of the time without a word a
/// second connection finds that out.
Result<Done> await(int kind, const SSL* ssl, bool& silent, Deadline until, Poller& poller) {
    const int fd = SSL_get_fd(ssl);
    const short events = kind == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    const Deadline start = BootClock::now();
    const auto share = (until - start) / 4;
    Wake wake = Wake::timeout;
    if (std::exchange(silent, false)) {
        wake = poller.wait(fd, events, guard::after(start, share));
        if (wake == Wake::timeout && answers_in_plain(fd, guard::after(start, 2 * share), poller))
            return not_tls();
    }
    if (wake == Wake::timeout) wake = poller.wait(fd, events, until);
    if (wake == Wake::interrupted) return Error{Fault::interrupted, "interrupted"};
    if (wake == Wake::timeout) return unreachable("the server does not answer the TLS handshake");
    return Done{};
}

Result<Done> shake_hands(const Link& link, Deadline until, Poller& poller) {
    for (bool silent = true;;) {
        ERR_clear_error();
        errno = 0;
        const int result = SSL_connect(link.ssl.get());
        if (result == 1) return Done{};
        const int kind = SSL_get_error(link.ssl.get(), result);
        if (!waits(kind)) {
            const unsigned long code = ERR_peek_error();
            if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
                ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
                return not_tls();
            return fault_of(link, kind);
        }
        if (auto ready = await(kind, link.ssl.get(), silent, until, poller); !ready) return ready;
    }
}

/// SNI is for names only: RFC 6066, section 3. (SSL_set_tlsext_host_name(3) is a macro with a cast
/// that the compiler warns of.)
bool expect(SSL& ssl, const std::string& name) {
    if (name.empty()) return false;  // OpenSSL would take that for any name
    X509_VERIFY_PARAM* wanted = SSL_get0_param(&ssl);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1;
    return X509_VERIFY_PARAM_set1_host(wanted, name.data(), name.size()) == 1 &&
           SSL_ctrl(&ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(name.c_str())) == 1;
}

/// As a certificate has it: without the dot that ends an absolute name, and without the zone of a
/// link-local address.
std::string plain_name(std::string name) {
    name.erase(std::min(name.find('%'), name.size()));
    if (name.ends_with('.')) name.pop_back();
    return name;
}

}  // namespace

void Tls::FreeContext::operator()(SSL_CTX* context) const noexcept {
    SSL_CTX_free(context);
}

Result<Done> Tls::load() {
    if (context_) return Done{};
    start_openssl();
    std::unique_ptr<SSL_CTX, FreeContext> context{SSL_CTX_new(TLS_client_method())};
    if (!context) return broken_openssl();
    // The system's own configuration of OpenSSL may ask for more.
    if (SSL_CTX_get_min_proto_version(context.get()) < TLS1_2_VERSION)
        SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    // Without renegotiation a write never has to wait for the server's words.
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
    // hiredis's buffer may move and grow between two tries to write it.
    SSL_CTX_set_mode(context.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context.get(), access_.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       access_.insecure ? nullptr : note_refusal);
    // Whatever certificate the user calls trusted is, also one that has an authority above it.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
    SSL_CTX_set_client_cert_cb(context.get(), note_certificate_wanted);
    if (auto loaded = load_files(*context, access_); !loaded) return loaded;
    context_ = std::move(context);
    return Done{};
}

Result<Done> Tls::secure(redisContext& context, const std::string& host, Deadline until,
                         Poller& poller) const {
    auto link = std::make_unique<Link>();
    link->access = access_;
    link->name = plain_name(access_.server_name.empty() ? host : access_.server_name);
    link->ssl.reset(SSL_new(context_.get()));
    if (!link->ssl || SSL_set_app_data(link->ssl.get(), link.get()) != 1 ||
        SSL_set_fd(link->ssl.get(), context.fd) != 1)
        return broken_openssl();
    if (!expect(*link->ssl, link->name))
        return Error{
            Fault::configuration,
            "'" + link->name + "' is no name that a server can have: see --tls-server-name"};
    if (auto done = shake_hands(*link, until, poller); !done) return done;
    context.funcs = &functions;
    context.privctx = link.release();
    return Done{};
}

Result<Done> add_tls(Endpoint& endpoint, const Url& url, const TlsAccess& access,
                     const guard::Reporter& reporter) {
    if (url.scheme.starts_with("rediss")) {
        endpoint.tls = std::make_shared<Tls>(access);
        if (access.insecure)
            reporter({guard::Level::warning, "tls-insecure",
                      "nobody checks the server's certificate (--tls-insecure): whoever is on the "
                      "way to it can read the password and give the slot to two at once"});
    } else if (url.scheme != "redis+unix" && access != TlsAccess{}) {
        return Error{Fault::configuration,
                     "options for TLS are given, but a URL with redis:// does not use it: write "
                     "rediss://"};
    }
    return Done{};
}

std::optional<TlsFacts> tls_facts(const redisContext& context) {
    if (context.funcs != &functions) return std::nullopt;
    const SSL* ssl = static_cast<const Link*>(context.privctx)->ssl.get();
    X509* certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr) return std::nullopt;
    return TlsFacts{SSL_get_version(ssl), facts_of(*certificate)};
}

std::optional<Error> tls_fault(const redisContext& context) {
    if (context.funcs != &functions) return std::nullopt;
    return static_cast<const Link*>(context.privctx)->fault;
}

bool tls_holds_data(const redisContext& context) noexcept {
    return context.funcs == &functions &&
           SSL_pending(static_cast<const Link*>(context.privctx)->ssl.get()) > 0;
}

}  // namespace store::redis
