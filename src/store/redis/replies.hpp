#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "guard/result.hpp"

namespace store::redis {

struct FreeReply {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// The bytes of a string or status reply, or of element `index` of an array or push; empty
/// otherwise.
[[nodiscard]] std::string_view text_of(const redisReply& reply) noexcept;
[[nodiscard]] std::string_view text_at(const redisReply& reply, std::size_t index) noexcept;

/// The number that `text` begins with.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text) noexcept;

/// Whether it is an error reply that begins with `start`.
[[nodiscard]] bool is_error(const redisReply& reply, std::string_view start = {}) noexcept;

/// Element `index` of an array or push; null where there is none.
[[nodiscard]] const redisReply* element_at(const redisReply& reply, std::size_t index) noexcept;
/// What stands beside `name` in a map, or in an array of names and values.
[[nodiscard]] std::string_view field(const redisReply& reply, std::string_view name) noexcept;
/// The integer at `index`.
[[nodiscard]] std::optional<long long> number_at(const redisReply& reply,
                                                 std::size_t index) noexcept;

/// A server's error reply in plain words. Its first word tells the kind (NOAUTH, NOPERM, LOADING
/// …): the fault is `denied` for logins and rights, `configuration` for a database that is not
/// there, else `unreachable`: the server cannot serve now.
[[nodiscard]] guard::Error plain_words(std::string_view error_reply);

/// Whether the condition behind an error reply passes by itself, so that trying again soon helps.
[[nodiscard]] bool passes_by_itself(std::string_view error_reply) noexcept;

}  // namespace store::redis
