#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace guard {

/// What a token tells a person about who holds the slot. It never holds the command's arguments or
/// environment: secrets live there. Nobody decides anything by it.
struct OwnerCard {
    std::string host;
    pid_t pid = 0;  ///< 0 where it is not known
    std::string user;
    std::string since;  ///< UTC, ISO 8601; empty where it is not known
    std::string label;

    /// The card of this process, now.
    static OwnerCard of_this_process(std::string label);

    /// `label (user@host, pid 123, since 2026-11-29T10:00:00Z)`
    [[nodiscard]] std::string text() const;
};

/// A new token: one line of JSON, 128 random bits first, then the owner card. Unique for each call.
[[nodiscard]] std::string make_token(const OwnerCard& card);

/// The card in a token of ours; none for another client's.
[[nodiscard]] std::optional<OwnerCard> read_card(std::string_view token);

/// Whoever holds the slot with `token`, for a person: the card's text, or, for a foreign token,
/// what it is: a bare UUID is the AgentScope harness's.
[[nodiscard]] std::string describe_holder(std::string_view token);

}  // namespace guard
