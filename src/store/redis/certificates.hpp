#pragma once

#include <openssl/types.h>

#include <string>

#include "guard/result.hpp"
#include "store/store.hpp"

namespace store::redis {

/// Reads the files of `access` into `context`. An error names the option and says what to do; it is
/// one of the configuration.
[[nodiscard]] guard::Result<guard::Done> load_files(SSL_CTX& context, const TlsAccess& access);

/// What a certificate says of itself.
struct CertificateFacts {
    std::string hosts;    ///< whom it names, with commas between; empty: nobody
    std::string expires;  ///< the day
    int days_left;        ///< below 0 where it has expired
};
[[nodiscard]] CertificateFacts facts_of(X509& certificate);

/// Whether `name` is a numeric IP address, which a certificate names in a way of its own.
[[nodiscard]] bool is_address(const std::string& name) noexcept;

/// Why the verification at hand refuses the server's certificate, and what to do: expired, another
/// name (with those that it has), an unknown authority, and so on. `name` is whom it should name.
[[nodiscard]] guard::Error refusal(X509_STORE_CTX& verification, const TlsAccess& access,
                                   const std::string& name);

}  // namespace store::redis
