#include "store/redis/certificates.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

namespace store::redis {
namespace {

using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;

struct FreeOpenSsl {
    void operator()(BIO* bio) const noexcept { BIO_free(bio); }
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
    void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

/// A file that an option names.
struct File {
    std::string_view option;
    const std::string& path;

    [[nodiscard]] Error fault(std::string_view what) const {
        return {Fault::configuration, fmt::format("{} '{}': {}", option, path, what)};
    }
    /// With OpenSSL's own words for what it could not make of the file.
    [[nodiscard]] Error malformed(std::string_view what) const {
        const char* why = ERR_reason_error_string(ERR_peek_last_error());
        return fault(why == nullptr ? std::string(what) : fmt::format("{} ({})", what, why));
    }
};

/// Opened here, since OpenSSL's own words for a file that is missing are its source lines.
Result<Owned<BIO>> open_file(const File& file) {
    FILE* stream = std::fopen(file.path.c_str(), "re");
    if (stream == nullptr) return file.fault(std::strerror(errno));
    Owned<BIO> bio{BIO_new_fp(stream, BIO_CLOSE)};
    struct stat about {};
    if (fstat(fileno(stream), &about) == 0 && S_ISDIR(about.st_mode))
        return file.fault(std::strerror(EISDIR));
    return bio;
}

Result<Done> load_authorities(SSL_CTX& context, const std::string& path) {
    if (path.empty()) {
        // Where there are none, no certificate is trusted, and that is told with the first one.
        SSL_CTX_set_default_verify_paths(&context);
        return Done{};
    }
    const File file{"--cacert", path};
    if (const auto opened = open_file(file); !opened) return opened.error();
    if (SSL_CTX_load_verify_file(&context, path.c_str()) != 1)
        return file.malformed("it holds no certificates in PEM form");
    return Done{};
}

/// Called by OpenSSL for the passphrase of an encrypted key. There is nobody to ask.
int note_encrypted(char*, int, int, void* encrypted) noexcept {
    *static_cast<bool*>(encrypted) = true;
    return -1;
}

Result<Owned<EVP_PKEY>> read_key(const File& file) {
    auto opened = open_file(file);
    if (!opened) return opened.error();
    bool encrypted = false;
    Owned<EVP_PKEY> key{
        PEM_read_bio_PrivateKey(opened->get(), nullptr, note_encrypted, &encrypted)};
    if (key) return key;
    if (encrypted)
        return file.fault(
            "it is encrypted, and nobody can be asked for its passphrase: decrypt it with 'openssl "
            "pkey' into a file that only you may read");
    return file.malformed("it holds no private key in PEM form");
}

Result<Done> load_identity(SSL_CTX& context, const TlsAccess& access) {
    if (access.cert.empty() && access.key.empty()) return Done{};
    const File cert{"--cert", access.cert};
    const File key_file{"--key", access.key};
    if (access.key.empty()) return cert.fault("it needs its private key: give it by --key");
    if (access.cert.empty()) return key_file.fault("it needs its certificate: give it by --cert");
    if (const auto opened = open_file(cert); !opened) return opened.error();
    // OpenSSL's own way to get a passphrase is to ask on the terminal.
    SSL_CTX_set_default_passwd_cb(&context, [](char*, int, int, void*) { return -1; });
    if (SSL_CTX_use_certificate_chain_file(&context, access.cert.c_str()) != 1)
        return cert.malformed("it holds no certificate in PEM form that can be used");
    const auto key = read_key(key_file);
    if (!key) return key.error();
    if (SSL_CTX_use_PrivateKey(&context, key->get()) != 1 ||
        SSL_CTX_check_private_key(&context) != 1)
        return key_file.fault(
            fmt::format("it is not the key of the certificate in --cert '{}'", access.cert));
    return Done{};
}

/// What others have written may be of any length.
std::string shortened(std::string text) {
    constexpr std::size_t enough = 200;
    if (text.size() > enough) text.replace(enough, text.npos, "...");
    return text;
}

/// `CN=Some Authority,O=Example`
std::string text_of(const X509_NAME* name) {
    const Owned<BIO> bio{BIO_new(BIO_s_mem())};
    X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return size > 0 ? shortened({text, static_cast<std::size_t>(size)}) : "nobody";
}

std::string date_of(const ASN1_TIME* time) {
    std::tm date{};
    if (ASN1_TIME_to_tm(time, &date) != 1) return "a date that cannot be read";
    return fmt::format("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

std::string text_of(const ASN1_STRING* text) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(const ASN1_OCTET_STRING* bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
    const bool whole = family == AF_INET || ASN1_STRING_length(bytes) == 16;
    const auto* data = ASN1_STRING_get0_data(bytes);
    return whole && inet_ntop(family, data, text.data(), text.size()) != nullptr ? text.data()
                                                                                 : "?";
}

/// The hosts that a certificate names: its alternative names, or where it has no DNS name among
/// them, also the common name of its subject. As X509_check_host(3) looks at them.
std::vector<std::string> hosts_of(X509* certificate) {
    std::vector<std::string> hosts;
    bool dns = false;
    const Owned<GENERAL_NAMES> names{static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_DNS) hosts.push_back(text_of(name->d.dNSName));
        if (name->type == GEN_IPADD) hosts.push_back(address_text(name->d.iPAddress));
        dns = dns || name->type == GEN_DNS;
    }
    const X509_NAME* subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (!dns && at >= 0)
        hosts.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
    return hosts;
}

std::string host_list(X509* certificate) {
    std::string hosts;
    for (const auto& host : hosts_of(certificate)) hosts += (hosts.empty() ? "" : ", ") + host;
    return shortened(std::move(hosts));
}

std::string wrong_name(X509* certificate, const std::string& name) {
    const auto hosts = host_list(certificate);
    if (hosts.empty())
        return "the server's certificate names no host: it needs one that names '" + name + "'";
    return fmt::format(
        "the server's certificate is not for '{}' but for {}: use such a name in the URL or with "
        "--tls-server-name",
        name, hosts);
}

/// `certificate`, the server's or one of its chain, as the subject of a sentence.
std::string owner_of(X509_STORE_CTX& verification, X509* certificate) {
    if (X509_STORE_CTX_get_error_depth(&verification) == 0) return "the server's certificate";
    return "the certificate of its authority '" + text_of(X509_get_subject_name(certificate)) + "'";
}

std::string unknown_authority(X509* certificate, const TlsAccess& access) {
    const auto issuer = text_of(X509_get_issuer_name(certificate));
    if (access.cacert.empty())
        return fmt::format(
            "the server's certificate comes from '{}', which is no authority that is trusted here: "
            "give that one's certificate by --cacert FILE",
            issuer);
    return fmt::format(
        "the server's certificate comes from '{}', and --cacert '{}' does not hold that authority",
        issuer, access.cacert);
}

}  // namespace

Result<Done> load_files(SSL_CTX& context, const TlsAccess& access) {
    ERR_clear_error();
    if (auto loaded = load_authorities(context, access.cacert); !loaded) return loaded;
    return load_identity(context, access);
}

CertificateFacts facts_of(X509& certificate) {
    const ASN1_TIME* end = X509_get0_notAfter(&certificate);
    int days = 0;
    int seconds = 0;
    ASN1_TIME_diff(&days, &seconds, nullptr, end);
    return {host_list(&certificate), date_of(end), seconds < 0 ? days - 1 : days};
}

bool is_address(const std::string& name) noexcept {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
           inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

Error refusal(X509_STORE_CTX& verification, const TlsAccess& access, const std::string& name) {
    X509* const server = X509_STORE_CTX_get0_cert(&verification);
    X509* const current = X509_STORE_CTX_get_current_cert(&verification);
    X509* const certificate = current == nullptr ? server : current;
    const int error = X509_STORE_CTX_get_error(&verification);
    const auto denied = [](std::string text) { return Error{Fault::denied, std::move(text)}; };
    switch (error) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return denied(fmt::format("{} expired on {}: the server needs a new one",
                                      owner_of(verification, certificate),
                                      date_of(X509_get0_notAfter(certificate))));
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return denied(fmt::format("{} is valid only from {} on: check this machine's clock",
                                      owner_of(verification, certificate),
                                      date_of(X509_get0_notBefore(certificate))));
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return denied(wrong_name(server, name));
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return denied(
                "the server's certificate is self-signed, and so proves nothing: if it is the "
                "server's own, give a copy of it by --cacert FILE");
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return denied(unknown_authority(certificate, access));
        default:
            return denied(fmt::format("{} cannot be trusted: {}",
                                      owner_of(verification, certificate),
                                      X509_verify_cert_error_string(error)));
    }
}

}  // namespace store::redis
