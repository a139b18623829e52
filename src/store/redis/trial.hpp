#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/keys.hpp"
#include "store/store.hpp"
#include "store/url.hpp"

namespace store::redis {

/// The lock, tried by two that want the same slot: one of nobody else's.
class Trial {
public:
    Trial(const Url& url, const Access& access, const std::string& prefix);

    [[nodiscard]] const std::string& key() const noexcept { return claim_.key; }
    [[nodiscard]] const std::string& token() const noexcept { return claim_.token; }
    [[nodiscard]] std::vector<std::string_view> keys(std::size_t count) const {
        return companions_.with(claim_.key, count);
    }
    [[nodiscard]] const CompanionKeys& companions() const noexcept { return companions_; }
    [[nodiscard]] guard::Duration ttl() const noexcept { return claim_.ttl; }

    /// The first enters the slot, which is free.
    guard::Result<guard::Lease> enter(guard::Poller& poller);

    /// What came of the second's wait.
    struct HandOver {
        guard::Result<guard::Done> released;  ///< by the first, as soon as the second waited
        guard::Result<guard::Lease> entered;  ///< by the second
        guard::Duration took;                 ///< from the one to the other
    };
    HandOver hand_over(guard::Poller& poller);

    /// Both leave.
    guard::Result<guard::Done> leave(guard::Deadline until, guard::Poller& poller);

private:
    guard::Claim claim_;
    CompanionKeys companions_;
    guard::Duration response_timeout_;
    std::unique_ptr<Store> first_;
    std::unique_ptr<Store> second_;
};

}  // namespace store::redis
