#include "store/url.hpp"

#include <algorithm>

namespace store {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Nothing where a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            bytes += text[i];
            continue;
        }
        const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return bytes;
}

bool is_scheme(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    });
}

std::string lower(std::string_view text) {
    std::string out{text};
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

/// Cuts `text` before the first of `marks`; the rest keeps its mark.
std::string_view cut(std::string_view& text, std::string_view marks) noexcept {
    const auto at = std::min(text.find_first_of(marks), text.size());
    const auto head = text.substr(0, at);
    text.remove_prefix(at);
    return head;
}

struct RawHost {
    std::string_view host;
    std::optional<std::string_view> port;
};

/// Nothing where brackets do not match.
std::optional<RawHost> split_host(std::string_view text) noexcept {
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == text.npos) return std::nullopt;
        const auto rest = text.substr(end + 1);
        if (!rest.empty() && rest.front() != ':') return std::nullopt;
        return RawHost{text.substr(1, end - 1),
                       rest.empty() ? std::nullopt : std::optional(rest.substr(1))};
    }
    const auto colon = text.find(':');
    if (colon == text.npos) return RawHost{text, std::nullopt};
    if (text.find(':', colon + 1) != text.npos) return std::nullopt;  // IPv6 needs its brackets
    return RawHost{text.substr(0, colon), text.substr(colon + 1)};
}

/// `a:1,b:2`; at least one, which may be empty.
std::optional<std::vector<RawHost>> split_servers(std::string_view text) {
    std::vector<RawHost> servers;
    for (;;) {
        const auto server = split_host(cut(text, ","));
        if (!server) return std::nullopt;
        servers.push_back(*server);
        if (text.empty()) return servers;
        text.remove_prefix(1);
    }
}

}  // namespace

std::string_view password_in(std::string_view text) noexcept {
    const auto scheme = text.find("://");
    const auto start = scheme == text.npos ? 0 : scheme + 3;
    // A password with an unescaped '/', '?' or '#' is no proper URL, yet must not be shown: where
    // no
    // '@' comes before those marks, the last one of all counts.
    auto at = text.substr(0, text.find_first_of("/?#", start)).rfind('@');
    if (at == text.npos || at < start) at = text.rfind('@');
    if (at == text.npos || at < start) return {};
    const auto colon = text.find(':', start);
    if (colon == text.npos || colon > at) return {};
    return text.substr(colon + 1, at - colon - 1);
}

std::string redacted(std::string_view text) {
    const auto secret = password_in(text);
    std::string shown{text};
    if (!secret.empty())
        shown.replace(static_cast<std::size_t>(secret.data() - text.data()), secret.size(),
                      redacted_secret);
    return shown;
}

std::string redacted_urls(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find_first_of(" \t\n'\""));
        shown += word.find("://") == word.npos ? std::string{word} : redacted(word);
        text.remove_prefix(word.size());
        if (text.empty()) break;
        shown += text.front();
        text.remove_prefix(1);
    }
    return shown;
}

Result<Url> Url::parse(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return Error{Fault::configuration, "'" + redacted(text) + "' " + std::string(why)};
    };
    const auto mark = text.find(':');
    Url url;
    if (mark != text.npos) url.scheme = lower(text.substr(0, mark));
    if (!is_scheme(url.scheme))
        return refuse("is no URL: it has no scheme such as redis:// or file:");

    auto rest = text.substr(mark + 1);
    const bool has_authority = rest.starts_with("//");
    if (has_authority) rest.remove_prefix(2);
    auto authority = has_authority ? cut(rest, "/?#") : std::string_view{};
    auto path = cut(rest, "?#");
    auto query = cut(rest, "#");
    if (!rest.empty()) return refuse("has a fragment: write '#' in a password as %23");
    if (!query.empty()) query.remove_prefix(1);

    std::optional<std::string_view> user;
    std::optional<std::string_view> password;
    if (const auto at = authority.rfind('@'); at != authority.npos) {
        user = authority.substr(0, at);
        authority.remove_prefix(at + 1);
        if (const auto colon = user->find(':'); colon != user->npos) {
            password = user->substr(colon + 1);
            user = user->substr(0, colon);
        }
    }
    const auto servers = split_servers(authority);
    if (!servers) return refuse("has a malformed host: write an IPv6 address as [::1]");

    bool decoded = true;
    const auto bytes = [&](std::string_view part) {
        auto plain = percent_decoded(part);
        decoded = decoded && plain.has_value();
        return plain.value_or("");
    };
    if (user) url.user = bytes(*user);
    if (password) url.password = bytes(*password);
    for (const auto& [host, port] : *servers)
        url.servers.push_back({bytes(host), port ? std::optional(bytes(*port)) : std::nullopt});
    url.path = bytes(path);
    url.query = bytes(query);
    if (!decoded)
        return refuse("has a '%' that no two hexadecimal digits follow: write '%' as %25");
    return url;
}

}  // namespace store
