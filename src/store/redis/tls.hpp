#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <string>

#include "guard/poller.hpp"
#include "guard/report.hpp"
#include "guard/result.hpp"
#include "store/redis/certificates.hpp"
#include "store/redis/endpoint.hpp"
#include "store/store.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace store::redis {

/// Our side of TLS to the servers of one store (`rediss://`). OpenSSL is first touched by `load`,
/// so that it costs nothing where TLS is not used.
///
/// hiredis has TLS of its own. It begins its handshake without a word on which direction it waits
/// for, never checks whom a certificate names, and has nothing left of OpenSSL's errors but errno;
/// so what is used of it is only the table of functions by which a context reads and writes.
class Tls {
public:
    explicit Tls(TlsAccess access) : access_(std::move(access)) {}

    /// Reads certificates and key; does nothing from the second call on, so that a connection can
    /// be made again whatever has become of the files, and without waiting for a file system while
    /// a lease is held. Faults of the files are errors of the configuration. Without `cacert` the
    /// authorities are those of OpenSSL's default folder, see SSL_CTX_set_default_verify_paths(3).
    guard::Result<guard::Done> load();

    /// Makes a TLS connection of one to `host` that stands, after `load`. From then on hiredis
    /// reads and writes through it. The server has to prove, by TLS 1.2 or newer, that it has a
    /// certificate which comes from a trusted authority, is valid now, and names the host, or what
    /// `server_name` says instead: RFC 6125. What is
    /// wrong with it, or what the server refuses about us, is `Fault::denied`; a server that speaks
    /// something else is `Fault::configuration`; one that does not answer by `until`, or closes, is
    /// `Fault::unreachable`.
    guard::Result<guard::Done> secure(redisContext& context, const std::string& host,
                                      guard::Deadline until, guard::Poller& poller) const;

private:
    struct FreeContext {
        void operator()(ssl_ctx_st* context) const noexcept;
    };

    TlsAccess access_;
    std::unique_ptr<ssl_ctx_st, FreeContext> context_;
};

/// Gives `endpoint` its TLS side where `url` wants one; a connection that nobody verifies is
/// reported. Options for TLS with a URL that has none are refused: whoever gives them does not want
/// the password to go over the network in clear.
[[nodiscard]] guard::Result<guard::Done> add_tls(Endpoint& endpoint, const Url& url,
                                                 const TlsAccess& access,
                                                 const guard::Reporter& reporter);

/// What a TLS connection is like.
struct TlsFacts {
    std::string version;  ///< such as `TLSv1.3`
    CertificateFacts certificate;
};
/// Nothing where `context` is a plain one.
[[nodiscard]] std::optional<TlsFacts> tls_facts(const redisContext& context);

/// Why reading or writing through TLS failed; nothing where `context` is a plain one or has not
/// failed.
[[nodiscard]] std::optional<guard::Error> tls_fault(const redisContext& context);

/// Whether TLS has decrypted data that nobody has read yet. A plain context holds none.
[[nodiscard]] bool tls_holds_data(const redisContext& context) noexcept;

}  // namespace store::redis
