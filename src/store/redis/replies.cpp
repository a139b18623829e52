#include "store/redis/replies.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace store::redis {
namespace {

using guard::Fault;

struct Meaning {
    std::string_view start;  ///< how the error reply begins
    Fault fault;
    std::string_view words;
    bool passing = false;  ///< ends by itself within seconds
};

/// First match counts. The server's error codes are those of its src/server.c and the command
/// pages.
constexpr std::array meanings{
    Meaning{"NOAUTH", Fault::denied,
            "the server wants a login: put user and password into the URL (by environment or "
            "configuration file), or use --password-file"},
    // A command of more than ten words from somebody who has not logged in: readQuery in
    // networking.c.
    Meaning{"ERR Protocol error: unauthenticated", Fault::denied,
            "the server wants a login: put user and password into the URL (by environment or "
            "configuration file), or use --password-file"},
    Meaning{"WRONGPASS", Fault::denied, "the server refused the user name or password"},
    Meaning{"ERR invalid password", Fault::denied, "the server refused the password"},
    Meaning{"ERR AUTH", Fault::denied,
            "a password was given, but the server has none configured: leave it out"},
    Meaning{"ERR Client sent AUTH", Fault::denied,
            "a password was given, but the server has none configured: leave it out"},
    Meaning{"NOPERM", Fault::denied,
            "the user lacks a right on this server, see sandbox-lock doctor --acl"},
    // The same in a script: Redis 7, Redis 6, Valkey.
    Meaning{"ERR The user executing the script", Fault::denied,
            "the user lacks a right on this server, see sandbox-lock doctor --acl"},
    Meaning{"The user executing the script", Fault::denied,
            "the user lacks a right on this server, see sandbox-lock doctor --acl"},
    Meaning{"ERR ACL failure in script", Fault::denied,
            "the user lacks a right on this server, see sandbox-lock doctor --acl"},
    Meaning{"DENIED", Fault::denied,
            "the server runs in protected mode and takes local clients only: give it a password"},
    Meaning{"ERR DB index", Fault::configuration, "the server has no such database number"},
    Meaning{"ERR invalid DB index", Fault::configuration, "the server has no such database number"},
    Meaning{"LOADING", Fault::unreachable, "the server is still loading its data", true},
    Meaning{"BUSY", Fault::unreachable,
            "the server is busy with a script that does not end: see SCRIPT KILL", true},
    Meaning{"MASTERDOWN", Fault::unreachable, "the server is a replica that has lost its primary",
            true},
    Meaning{"CLUSTERDOWN", Fault::unreachable, "the cluster is down", true},
    Meaning{"TRYAGAIN", Fault::unreachable, "the cluster is moving the key", true},
    Meaning{"NOREPLICAS", Fault::unreachable,
            "the server has too few replicas to take writes (min-replicas-to-write)", true},
    Meaning{"READONLY", Fault::unreachable,
            "the server is a read-only replica: use the primary's address, or redis+sentinel://"},
    Meaning{"OOM", Fault::unreachable,
            "the server is out of memory (maxmemory) and takes no writes"},
    Meaning{"MISCONF", Fault::unreachable,
            "the server cannot save its data and therefore takes no writes"},
    Meaning{"MOVED", Fault::unreachable,
            "the cluster's nodes do not agree on which of them has the key", true},
    Meaning{"ERR max number of clients", Fault::unreachable,
            "the server has as many clients as it takes (maxclients)", true},
};

/// A script's error without the place in the script: `OOM command not allowed … script: 3fa…, on
/// @user_script:7.` or, before Redis 7, where that hides the error's code, `ERR Error running
/// script (call to f_3fa…): @user_script:7: OOM command not allowed …`, or with the place twice,
/// `@user_script: 7: -READONLY …`.
std::string_view without_place(std::string_view error_reply) noexcept {
    constexpr std::string_view start = "ERR Error running script (call to f_";
    if (!error_reply.starts_with(start)) {
        const auto tail = error_reply.rfind(" script: ");
        const bool placed = tail != error_reply.npos &&
                            error_reply.find(", on @user_script:", tail) != error_reply.npos;
        if (placed) error_reply = error_reply.substr(0, tail);
    }
    constexpr std::string_view place = "@user_script:";
    const auto at = error_reply.rfind(place);
    const auto end = at == error_reply.npos ? at : error_reply.find(": ", at + place.size() + 1);
    if (end == error_reply.npos) return error_reply;
    error_reply.remove_prefix(end + 2);
    if (error_reply.starts_with('-')) error_reply.remove_prefix(1);
    return error_reply;
}

const Meaning* meaning_of(std::string_view error_reply) noexcept {
    const auto found = std::ranges::find_if(meanings, [&](const Meaning& m) {
        return without_place(error_reply).starts_with(m.start);
    });
    return found == meanings.end() ? nullptr : &*found;
}

}  // namespace

std::string_view text_of(const redisReply& reply) noexcept {
    switch (reply.type) {
        case REDIS_REPLY_STRING:
        case REDIS_REPLY_STATUS:
        case REDIS_REPLY_ERROR:
            return {reply.str, reply.len};
        default:
            return {};
    }
}

std::string_view text_at(const redisReply& reply, std::size_t index) noexcept {
    const auto* element = element_at(reply, index);
    return element == nullptr ? std::string_view{} : text_of(*element);
}

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} ? std::optional(number) : std::nullopt;
}

bool is_error(const redisReply& reply, std::string_view start) noexcept {
    return reply.type == REDIS_REPLY_ERROR && text_of(reply).starts_with(start);
}

const redisReply* element_at(const redisReply& reply, std::size_t index) noexcept {
    const bool list = reply.type == REDIS_REPLY_ARRAY || reply.type == REDIS_REPLY_PUSH ||
                      reply.type == REDIS_REPLY_MAP;
    return list && index < reply.elements ? reply.element[index] : nullptr;
}

std::string_view field(const redisReply& reply, std::string_view name) noexcept {
    for (std::size_t i = 0; i + 1 < reply.elements; i += 2)
        if (text_at(reply, i) == name) return text_at(reply, i + 1);
    return {};
}

std::optional<long long> number_at(const redisReply& reply, std::size_t index) noexcept {
    const auto* element = element_at(reply, index);
    if (element == nullptr || element->type != REDIS_REPLY_INTEGER) return std::nullopt;
    return element->integer;
}

guard::Error plain_words(std::string_view error_reply) {
    const auto* meaning = meaning_of(error_reply);
    const std::string said = "'" + std::string(without_place(error_reply)) + "'";
    if (meaning == nullptr) return {Fault::unreachable, "the server answered " + said};
    return {meaning->fault, std::string(meaning->words) + " (" + said + ")"};
}

bool passes_by_itself(std::string_view error_reply) noexcept {
    const auto* meaning = meaning_of(error_reply);
    return meaning != nullptr && meaning->passing;
}

}  // namespace store::redis
