#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guard/descriptor.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"

namespace interop {

/// Compiles the Java side beside this program. The reason why not, where that cannot be done here;
/// throws if it fails for any other reason.
std::optional<std::string> cannot_compile();

/// AgentScope's own guards in a JVM, on one Redis. What it understands: java/GuardMain.java.
///
/// Its guards are "builder" and "store" with all defaults, "quick", which tries every 20 ms, and
/// "brief", whose lease ends after `brief_ttl`.
class Harness {
public:
    explicit Harness(const support::RedisServer& redis);

    /// Sends one line, a tab between fields.
    void tell(const std::vector<std::string>& fields) const;
    /// Whether the line WORD ID comes, or has come.
    [[nodiscard]] bool says(const std::string& word, const std::string& id) const;
    [[nodiscard]] bool has_said(const std::string& word, const std::string& id) const;

    /// Begins to enter a slot; says "entered" of the id that this returns.
    [[nodiscard]] std::string begin(const std::string& guard, const std::string& scope,
                                    const std::string& value) const;
    /// Enters a slot that is free.
    [[nodiscard]] std::string enter(const std::string& guard, const std::string& scope,
                                    const std::string& value) const;
    void leave(const std::string& id) const;
    /// As a crash of its host would.
    void kill();

private:
    guard::Descriptor input_;
    std::optional<support::Process> jvm_;
};

inline constexpr double brief_ttl = 2.0;  ///< seconds

/// The JVM that the tests of this program share, on `support::shared_redis()`.
const Harness& shared_harness();

/// Whether clients set, or try to set, keys so many times more. While sandbox-lock holds a slot and
/// renews it, only the harness does.
[[nodiscard]] bool sees_tries(const support::RedisServer& redis, long times);

/// What the store has under a key; empty if nothing.
[[nodiscard]] std::string token_in(const support::RedisServer& redis, const std::string& key);
/// Whether a token is the harness's: a bare UUID.
[[nodiscard]] bool is_uuid(const std::string& token);

}  // namespace interop
