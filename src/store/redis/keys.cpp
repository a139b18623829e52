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

std::vector<std::string_view> CompanionKeys::with(std::string_view key, std::size_t count) const {
    std::vector<std::string_view> keys{key, fence, queue, presence, mixed};
    keys.resize(count);
    return keys;
}

std::string literal_pattern(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

}  // namespace store::redis
