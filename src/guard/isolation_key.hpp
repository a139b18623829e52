#pragma once

#include <string>
#include <string_view>

#include "guard/result.hpp"

namespace guard {

enum class Scope { session, user, agent, global };

/// The scope's name, in lower case as it stands in every key.
[[nodiscard]] std::string_view name_of(Scope scope) noexcept;

/// Names one isolation slot: a scope and a value (DESIGN section 2).
struct IsolationKey {
    Scope scope;
    std::string value;  ///< byte for byte as the user gave it

    /// Reads `scope:value`, split at the first colon, or `global` alone for `global:__global__`.
    /// The scope is matched without regard to ASCII case. Refuses an unknown scope, an empty or
    /// all-blank value, and NUL.
    static Result<IsolationKey> parse(std::string_view text);

    /// `scope:value`, as messages show it.
    [[nodiscard]] std::string text() const;
};

/// A prefix ends with a colon: one that lacks it gets one. A blank prefix or one with NUL is
/// refused.
[[nodiscard]] Result<std::string> normal_prefix(std::string_view prefix);

/// `<prefix><scope>:<value>`: the name under which a store keeps the slot. `prefix` is a normal
/// one.
[[nodiscard]] std::string store_key(std::string_view prefix, const IsolationKey& key);

}  // namespace guard
