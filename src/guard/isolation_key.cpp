#include "guard/isolation_key.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace guard {
namespace {

constexpr std::array scopes{Scope::session, Scope::user, Scope::agent, Scope::global};
constexpr std::string_view accepted_form =
    "a KEY is session:VALUE, user:VALUE, agent:VALUE, global:VALUE or global";

/// By hand, not by tolower(3): in a Turkish locale I and i are no pair.
char ascii_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view text, std::string_view lower) noexcept {
    return std::ranges::equal(text, lower, {}, ascii_lower);
}

/// ASCII white space as Java's Character.isWhitespace knows it, which decides in the harness.
bool is_blank(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char c) {
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
    });
}

std::optional<Scope> scope_named(std::string_view text) noexcept {
    for (Scope scope : scopes)
        if (same_word(text, name_of(scope))) return scope;
    return std::nullopt;
}

}  // namespace

std::string_view name_of(Scope scope) noexcept {
    constexpr std::array<std::string_view, scopes.size()> names{"session", "user", "agent",
                                                                "global"};
    return names[static_cast<std::size_t>(scope)];
}

Result<IsolationKey> IsolationKey::parse(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return Error{Fault::usage, "KEY '" + std::string(text) + "' " + std::string(why) + ": " +
                                       std::string(accepted_form)};
    };
    if (text.find('\0') != text.npos) return refuse("holds a NUL");
    if (same_word(text, "global")) return IsolationKey{Scope::global, "__global__"};

    const auto colon = text.find(':');
    if (colon == text.npos) return refuse("has no scope");
    const auto scope = scope_named(text.substr(0, colon));
    if (!scope) return refuse("has an unknown scope");
    const auto value = text.substr(colon + 1);
    if (is_blank(value)) return refuse("has an empty value");
    return IsolationKey{*scope, std::string(value)};
}

std::string IsolationKey::text() const {
    std::string text{name_of(scope)};
    return text.append(":").append(value);
}

Result<std::string> normal_prefix(std::string_view prefix) {
    if (is_blank(prefix)) return Error{Fault::configuration, "a blank key prefix is refused"};
    if (prefix.find('\0') != prefix.npos)
        return Error{Fault::configuration, "the key prefix holds a NUL"};
    std::string normal{prefix};
    if (normal.back() != ':') normal += ':';
    return normal;
}

std::string store_key(std::string_view prefix, const IsolationKey& key) {
    return std::string(prefix) + key.text();
}

}  // namespace guard
