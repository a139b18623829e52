#include "store/redis/keys.hpp"

#include "store/redis/cluster.hpp"

namespace store::redis {
namespace {

/// The companions start with `{`, so no slot of a sane prefix has such a name. In a cluster they
/// must be where the key is, so their hash tag is the key's own, or else the whole key.
std::string stem_of(const std::string& key) {
    if (const auto tag = hash_tag(key); !tag.empty()) return "{" + std::string(tag) + "}:" + key;
    if (key.find('}') == key.npos) return "{" + key + "}";
    // Such a key cannot be a tag; any one with the same hash slot does.
    const unsigned slot = hash_slot(key);
    unsigned number = 0;
    while (hash_slot(std::to_string(number)) != slot) ++number;
    return "{" + std::to_string(number) + "}:" + key;
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
