#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "guard/poller.hpp"
#include "guard/result.hpp"
#include "store/store.hpp"

namespace store {

enum class Verdict { ok, warn, fail };

/// What one check found.
struct Finding {
    std::string_view check;  ///< a stable name, one word
    Verdict verdict;
    std::string text;
    std::string remedy = {};  ///< what to do where it is not ok
};
using OnFinding = std::function<void(const Finding&)>;

/// How the lock is used, as far as an examination looks at it.
struct Practice {
    std::string key_prefix;
    guard::Duration lease_ttl;
    bool renew;
    guard::Duration kill_after;
};

/// Finds out whether a store is fit for the lock, by trying it on a slot of its own.
class Examiner {
public:
    virtual ~Examiner() = default;

    /// Checks one thing after the other. An error means that there is no store to examine, or an
    /// interruption.
    virtual guard::Result<guard::Done> examine(const Practice& practice, guard::Poller& poller,
                                               const OnFinding& tell) = 0;

    /// Removes what the examination has made in the store; for one that was interrupted.
    virtual void tidy(guard::Deadline until, guard::Poller& poller) = 0;
};

/// An examiner of the store that the URL's scheme names. Errors are those of `open`.
[[nodiscard]] guard::Result<std::unique_ptr<Examiner>> examine(const Access& access);

/// The rights that a user of the store needs for the slots under `prefix`: text for a person, to be
/// used there. A store without users of its own is an error.
[[nodiscard]] guard::Result<std::string> needed_rights(const Access& access,
                                                       const std::string& prefix);

}  // namespace store
