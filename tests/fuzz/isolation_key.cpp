#include "guard/isolation_key.hpp"

#include <limits.h>

#include <array>
#include <string>

#include "fuzz/target.hpp"
#include "store/file/lock_file.hpp"
#include "store/redis/cluster.hpp"
#include "store/redis/keys.hpp"

namespace {

using fuzz::require;
using guard::IsolationKey;
using store::redis::CompanionKeys;
using store::redis::hash_slot;

void check_names(const std::string& store_key) {
    const CompanionKeys companions{store_key};
    const auto keys = companions.with(store_key, 5);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        require(hash_slot(keys[i]) == hash_slot(store_key), "a slot's keys have one hash slot");
        for (std::size_t j = 0; j < i; ++j) require(keys[i] != keys[j], "a slot's keys differ");
    }
    const auto name = store::file::file_name(store_key);
    require(name.size() <= NAME_MAX && name.find('/') == name.npos, "a key makes a file name");
    if (name.find('~') == name.npos)
        require(store::file::key_of_file(name) == store_key, "a file name gives its key back");
    else
        (void)store::file::key_of_file(name);
}

void check_apart(const std::string& one, const std::string& other) {
    require(one != other, "two keys have two store keys");
    const CompanionKeys ours{one};
    const CompanionKeys theirs{other};
    for (const auto our_key : ours.with(one, 5))
        for (const auto their_key : theirs.with(other, 5))
            require(our_key != their_key, "two slots share no key");
    require(store::file::file_name(one) != store::file::file_name(other), "nor a lock file");
}

}  // namespace

/// A prefix, a key, another key, each in a line of its own.
void fuzz::isolation_key(std::string_view input) {
    std::array<std::string_view, 3> parts{};
    for (auto& part : parts) {
        part = input.substr(0, input.find('\n'));
        input.remove_prefix(std::min(part.size() + 1, input.size()));
    }
    const auto prefix = guard::normal_prefix(parts[0]);
    if (!prefix)
        require_shown(prefix.error());
    else
        require(*guard::normal_prefix(*prefix) == *prefix, "a normal prefix stays as it is");

    std::array<std::string, 2> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto key = IsolationKey::parse(parts[i + 1]);
        if (!key) return require_shown(key.error());
        texts[i] = key->text();
        const auto again = IsolationKey::parse(texts[i]);
        require(again && again->scope == key->scope && again->value == key->value,
                "a key's text is the key");
        check_names(guard::store_key(prefix ? *prefix : "p:", *key));
    }
    // A prefix with braces of its own may make a key that looks like another's companion.
    if (texts[0] != texts[1] && prefix && prefix->find_first_of("{}") == prefix->npos)
        check_apart(*prefix + texts[0], *prefix + texts[1]);
}
