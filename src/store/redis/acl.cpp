#include "store/redis/acl.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

#include "store/redis/cluster.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/route.hpp"

namespace store::redis {
namespace {

/// Without these there is no lock. HELLO and AUTH are allowed to everybody.
constexpr std::string_view needed =
    "+eval +get +set +pexpire +pttl +time +zadd +zrange +zrank +zrem +zscore";

/// A right that may be missing, and what is lost then.
struct Optional {
    std::string_view rules;
    std::string_view use;
};
constexpr std::array optional{
    Optional{"+evalsha", "a script is sent by its name alone"},
    Optional{"+subscribe +publish", "a waiter is woken at once; else it polls"},
    Optional{"+client|tracking", "the same for what clients without the queue free"},
    Optional{"+info +lastsave", "after a restart, holders come back before others enter"},
    Optional{"+scan", "status without KEY"},
    Optional{"+wait", "--min-replicas"},
    Optional{"+role", "redis+sentinel://: a server that is no master any more is seen at once"},
    Optional{"+cluster|slots +asking", "a cluster: its other nodes, and hash slots on the move"},
};
constexpr std::array for_doctor{
    Optional{"+acl|whoami", "doctor names the user"},
    Optional{"+config|get", "doctor knows more; but it shows the server's passwords, too"},
};

/// A rule holds no blank (ACLSetUser in the server's acl.c), and so stands for one by a set of all
/// other bytes, inverted. NUL cannot be in it, nor can one blank but the space without the others.
/// The halves are apart since the server compares plain `char`.
std::string without_blanks(std::string_view pattern) {
    std::string rule;
    for (const char c : pattern)
        if (c == ' ')
            rule += "[^\x01-\x1f!-\x7f\x80-\xff]";
        else if (c >= '\t' && c <= '\r')
            rule += "[^\x01-\x08\x0e-\x7f\x80-\xff]";
        else
            rule += c;
    return rule;
}

/// A word as redis-cli reads it: sdssplitargs in the server's sds.c.
std::string quoted(std::string_view word) {
    std::string text;
    bool plain = true;
    for (const char c : word) {
        const bool marked = c == '"' || c == '\\';
        const bool shown = c > ' ' && c <= '~';
        plain = plain && shown && !marked && c != '\'';
        text += marked  ? fmt::format("\\{}", c)
                : shown ? std::string(1, c)
                        : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return plain ? text : '"' + text + '"';
}

/// The names that a slot's companions may have (keys.cpp), as far as `suffix`, which is one.
std::vector<std::string> companions(const std::string& prefix, const std::string& suffix) {
    const auto slot = literal_pattern(prefix) + "*";
    // A prefix that has a hash tag gives it to all its slots.
    if (const auto tag = hash_tag(prefix); !tag.empty())
        return {literal_pattern("{" + std::string(tag) + "}:") + slot + suffix};
    return {"{" + slot + "}" + suffix, "{*}:" + slot + suffix};
}

std::string rules(char kind, const std::vector<std::string>& patterns) {
    std::string text;
    for (const auto& pattern : patterns) text += " " + quoted(kind + without_blanks(pattern));
    return text;
}

std::string comments(auto& rights) {
    std::string text;
    for (const auto& [its_rules, use] : rights)
        text += fmt::format("#   {:<20} {}\n", its_rules, use);
    return text;
}

}  // namespace

guard::Result<std::string> needed_rights(const Url& url, const Access& access,
                                         const std::string& prefix) {
    // A password is not needed to say what its user needs.
    Access with_password = access;
    with_password.password = access.password.value_or("");
    with_password.sentinel_password = access.sentinel_password.value_or("");
    const auto route = route_by(url, with_password, [](const guard::Report&) {});
    if (!route) return route.error();
    std::string command = "ACL SETUSER sandbox-lock on >PASSWORD resetkeys";
    command += rules('~', {literal_pattern(prefix) + "*"});
    command += rules('~', companions(prefix, ":*")) + " resetchannels";
    command += rules('&', companions(prefix, ":queue:m*")) + " -@all ";
    command += needed;
    if ((*route)->server().database != 0) command += " +select";
    for (const auto& [its_rules, use] : optional) command += fmt::format(" {}", its_rules);
    return command +
           "\n# Put a password of its own in the place of PASSWORD.\n"
           "# These may be left out, and what they are for:\n" +
           comments(optional) + "#   the rules with &     the same as +subscribe\n" +
           "#   the rule with {*}    KEYs with a pair of braces\n" + "# These may be added:\n" +
           comments(for_doctor);
}

}  // namespace store::redis
