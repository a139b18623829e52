#include <algorithm>
#include <array>

#include "store/file/file_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/store.hpp"
#include "store/url.hpp"

namespace store {
namespace {

using Opener = guard::Result<std::unique_ptr<Store>> (*)(const Url&, const Access&, guard::Claim,
                                                         guard::Reporter);
struct Kind {
    std::string_view scheme;
    std::string_view form;  ///< for messages
    Opener open;
};

/// A new store is a folder of its own and a line here.
constexpr std::array kinds{
    Kind{"file", "file:[DIR]", file::open},
    Kind{"redis", "redis://HOST", redis::open},
    Kind{"redis+unix", "redis+unix:///PATH", redis::open},
};

std::string known_forms() {
    std::string names;
    for (const Kind& kind : kinds) {
        if (!names.empty()) names += ", ";
        names += kind.form;
    }
    return names;
}

}  // namespace

guard::Result<std::unique_ptr<Store>> open(const Access& access, guard::Claim claim,
                                           guard::Reporter reporter) {
    const auto url = Url::parse(access.url);
    if (!url) return url.error();
    const auto kind = std::ranges::find(kinds, url->scheme, &Kind::scheme);
    if (kind == kinds.end())
        return guard::Error{
            guard::Fault::configuration,
            "'" + redacted(access.url) + "' names no store that is known: use " + known_forms()};
    return kind->open(*url, access, std::move(claim), std::move(reporter));
}

}  // namespace store
