#include "store/url.hpp"

#include <string>

#include "fuzz/secret.hpp"
#include "fuzz/target.hpp"
#include "store/examiner.hpp"
#include "store/redis/endpoint.hpp"
#include "store/redis/sentinel_route.hpp"

namespace {

using fuzz::require;
using store::Url;
using store::redis::Endpoint;

void check_redaction(std::string_view text, const Url& url) {
    const auto shown = store::redacted(text);
    require(store::redacted(shown) == shown, "a redacted URL stays as it is");
    if (text.find("://") != text.npos && text.find_first_of(" \t\n'\"") == text.npos)
        require(store::redacted_urls("no '" + std::string(text) + "'") == "no '" + shown + "'",
                "a URL in a sentence is redacted as one that stands alone");
    if (!url.password || url.password->empty()) return;
    const auto without = Url::parse(shown);
    require(without && without->password == store::redacted_secret, "a password is redacted");
    require(without->user == url.user && without->servers.size() == url.servers.size() &&
                without->path == url.path && without->query == url.query,
            "nothing but the password is redacted");
}

/// What is said of it where it is no URL or no store's, and else of the server.
std::string said_of(std::string_view text) {
    std::string said;
    const auto note = [&](const auto& result) {
        if (result) return;
        fuzz::require_shown(result.error());
        said += result.error().text + "\n";
    };
    const auto url = Url::parse(text);
    note(url);
    if (!url) return said;
    const auto endpoint = Endpoint::from(*url, std::nullopt);
    note(endpoint);
    if (endpoint && endpoint->unix_path.empty()) said += endpoint->text();
    store::Access access{};
    access.url = text;
    note(store::redis::SentinelAddress::from(*url, access));
    note(store::needed_rights(access, "p:"));
    return said;
}

}  // namespace

void fuzz::store_url(std::string_view input) {
    if (const auto url = Url::parse(input)) check_redaction(input, *url);
    require(said_of(input) == said_of(with_another_password(input)),
            "nothing that is said of a URL depends on its password");
}
