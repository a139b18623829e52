#include "store/redis/scan.hpp"

#include "store/redis/keys.hpp"

namespace store::redis {

Scan::Scan(const std::string& prefix) : pattern_(literal_pattern(prefix) + "*") {}

guard::Result<Reply> Scan::next(Session& session, guard::Deadline until, guard::Poller& poller) {
    return session.request({"SCAN", cursor_, "MATCH", pattern_, "COUNT", "1000"}, until, poller);
}

bool Scan::take(const redisReply& page) {
    const auto* list = element_at(page, 1);
    if (list == nullptr) return false;
    cursor_ = std::string(text_at(page, 0));
    for (std::size_t i = 0; i < list->elements; ++i) keys_.insert(std::string(text_at(*list, i)));
    return true;
}

}  // namespace store::redis
