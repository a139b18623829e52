#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard/result.hpp"

namespace store {

/// What a password is replaced by wherever a URL is shown.
inline constexpr std::string_view redacted_secret = "***";

/// Where a server listens.
struct HostPort {
    std::string host;  ///< without the brackets of an IPv6 address
    std::optional<std::string> port;
};

/// A store's address, taken apart by RFC 3986. All parts but the scheme are percent-decoded to
/// bytes.
struct Url {
    std::string scheme;  ///< lower case
    std::optional<std::string> user;
    std::optional<std::string> password;
    /// At least one, which may be empty; more where there are commas, which the RFC does not know.
    std::vector<HostPort> servers;
    std::string path;
    std::string query;

    /// Reads `scheme://authority/path?query` and `scheme:path`. Errors never repeat the password.
    static guard::Result<Url> parse(std::string_view text);
};

/// The part of `text` that is a password: from the first `:` of the user information to the last
/// `@` before the path. Empty where there is none. Works on text that is no proper URL, too.
[[nodiscard]] std::string_view password_in(std::string_view text) noexcept;

/// `text` with its password replaced by `***`.
[[nodiscard]] std::string redacted(std::string_view text);

/// `text`, a sentence say, with the passwords of all URLs in it replaced.
[[nodiscard]] std::string redacted_urls(std::string_view text);

}  // namespace store
