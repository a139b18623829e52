#pragma once

#include <set>
#include <string>

#include "store/redis/server_route.hpp"
#include "store/redis/session.hpp"

namespace store::redis {

/// The keys of one server that begin with a prefix, page by page: by SCAN, which does not stop the
/// server as KEYS would, and may name a key more than once.
class Scan {
public:
    explicit Scan(const std::string& prefix);

    /// Asks for the next page; `take` is for the answer.
    guard::Result<Reply> next(Session& session, guard::Deadline until, guard::Poller& poller);
    /// Adds a page; false where it makes no sense.
    [[nodiscard]] bool take(const redisReply& page);

    /// Whether the page that was taken last is the last one.
    [[nodiscard]] bool is_complete() const noexcept { return cursor_ == "0"; }
    [[nodiscard]] const std::set<std::string>& keys() const noexcept { return keys_; }

private:
    std::string pattern_;
    std::string cursor_ = "0";
    std::set<std::string> keys_;
};

/// Does what `visit` does on a session with each server that has keys: all masters of a cluster, or
/// the one of `session`. Ends with the first error.
template <class Visit>
guard::Result<guard::Done> on_each_master(Session& session, guard::Deadline until,
                                          guard::Poller& poller, Visit visit) {
    if (const auto known = session.explore(until, poller); !known) return known;
    const auto masters = session.route().masters();
    if (masters.size() == 1) return visit(session);
    for (const auto& master : masters) {
        Session its_own{route_to(master)};
        if (const auto done = visit(its_own); !done) return done;
    }
    return guard::Done{};
}

}  // namespace store::redis
