#include "store/redis/keys.hpp"

namespace store::redis {
namespace {

std::string stem_of(const std::string& key) {
    // A hash tag is what stands between the first '{' and the next '}', if it is not empty: the
    // cluster specification. Where the key has one, its companions start with the same. So they
    // always start with '{', and no slot of a sane prefix can have such a name. A key with a '}'
    // and no tag cannot be wrapped: its companions are in another hash slot, which matters in a
    // cluster only.
    const auto open = key.find('{');
    const auto close = open == key.npos ? key.npos : key.find('}', open + 1);
    const bool tagged = close != key.npos && close > open + 1;
    return tagged ? key.substr(open, close + 1 - open) + ":" + key : "{" + key + "}";
}

}  // namespace

CompanionKeys::CompanionKeys(const std::string& key) {
    const auto stem = stem_of(key);
    fence = stem + ":fence";
    queue = stem + ":queue";
    presence = stem + ":presence";
    mixed = stem + ":mixed";
}

}  // namespace store::redis
