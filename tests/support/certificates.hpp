#pragma once

#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace support {

/// A certificate and its private key: paths of files in PEM form.
struct Identity {
    std::string cert;
    std::string key;
};

/// A certificate authority of the test's own, by openssl(1), in a folder that goes with the object.
class Authority {
public:
    /// `name` is its common name.
    explicit Authority(const std::string& name = "Test Authority");

    /// The authority's certificate.
    [[nodiscard]] std::string cert() const { return dir_ / "authority.pem"; }

    /// Issues a certificate for `hosts`, such as `DNS:localhost,IP:127.0.0.1`; none if empty.
    [[nodiscard]] Identity issue(const std::string& hosts) { return issue(hosts, 10); }
    /// As above, and it has expired a day ago.
    [[nodiscard]] Identity issue_expired(const std::string& hosts) { return issue(hosts, -1); }
    /// One that no authority has issued.
    [[nodiscard]] Identity self_signed(const std::string& hosts);

    /// The key of `identity`, encrypted.
    [[nodiscard]] std::string encrypted_key(const Identity& identity);
    /// A file with `text` in it.
    [[nodiscard]] std::string file(const std::string& text);

private:
    [[nodiscard]] std::string new_path() { return dir_ / std::to_string(++files_); }
    [[nodiscard]] Identity issue(const std::string& hosts, int days);

    TempDir dir_;
    int files_ = 0;
};

/// Runs openssl(1); throws, with what it wrote, where it fails.
void openssl(const std::vector<std::string>& arguments);

}  // namespace support
