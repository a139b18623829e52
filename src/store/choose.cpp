#include <algorithm>
#include <array>

#include "store/examiner.hpp"
#include "store/file/file_examiner.hpp"
#include "store/file/file_observer.hpp"
#include "store/file/file_store.hpp"
#include "store/observer.hpp"
#include "store/redis/acl.hpp"
#include "store/redis/redis_examiner.hpp"
#include "store/redis/redis_observer.hpp"
#include "store/redis/redis_store.hpp"
#include "store/store.hpp"
#include "store/url.hpp"

namespace store {
namespace {

using Opener = guard::Result<std::unique_ptr<Store>> (*)(const Url&, const Access&, guard::Claim,
                                                         guard::Reporter);
using ObserverOpener = guard::Result<std::unique_ptr<Observer>> (*)(const Url&, const Access&,
                                                                    const guard::Reporter&);
using ExaminerOpener = guard::Result<std::unique_ptr<Examiner>> (*)(const Url&, const Access&);
using RightsWriter = guard::Result<std::string> (*)(const Url&, const Access&,
                                                    const std::string& prefix);
struct Kind {
    std::string_view scheme;
    std::string_view form;  ///< for messages
    Opener open;
    ObserverOpener observe;
    ExaminerOpener examine;
    RightsWriter needed_rights;
};

/// A new store is a folder of its own and a line here.
constexpr std::array kinds{
    Kind{"file", "file:[DIR]", file::open, file::observe, file::examine, file::needed_rights},
    Kind{"redis", "redis://HOST", redis::open, redis::observe, redis::examine,
         redis::needed_rights},
    Kind{"rediss", "rediss://HOST", redis::open, redis::observe, redis::examine,
         redis::needed_rights},
    Kind{"redis+unix", "redis+unix:///PATH", redis::open, redis::observe, redis::examine,
         redis::needed_rights},
    Kind{"redis+sentinel", "redis+sentinel://HOST,HOST/NAME", redis::open, redis::observe,
         redis::examine, redis::needed_rights},
    Kind{"rediss+sentinel", "rediss+sentinel://HOST,HOST/NAME", redis::open, redis::observe,
         redis::examine, redis::needed_rights},
};

std::string known_forms() {
    std::string names;
    for (const Kind& kind : kinds) {
        if (!names.empty()) names += ", ";
        names += kind.form;
    }
    return names;
}

/// The kind that a URL names.
guard::Result<const Kind*> kind_of(const std::string& text, const Url& url) {
    const auto kind = std::ranges::find(kinds, url.scheme, &Kind::scheme);
    if (kind != kinds.end()) return &*kind;
    return guard::Error{
        guard::Fault::configuration,
        "'" + redacted(text) + "' names no store that is known: use " + known_forms()};
}

}  // namespace

guard::Result<std::unique_ptr<Store>> open(const Access& access, guard::Claim claim,
                                           guard::Reporter reporter) {
    const auto url = Url::parse(access.url);
    if (!url) return url.error();
    const auto kind = kind_of(access.url, *url);
    if (!kind) return kind.error();
    return (*kind)->open(*url, access, std::move(claim), std::move(reporter));
}

guard::Result<std::unique_ptr<Observer>> observe(const Access& access,
                                                 const guard::Reporter& reporter) {
    const auto url = Url::parse(access.url);
    if (!url) return url.error();
    const auto kind = kind_of(access.url, *url);
    if (!kind) return kind.error();
    return (*kind)->observe(*url, access, reporter);
}

guard::Result<std::unique_ptr<Examiner>> examine(const Access& access) {
    const auto url = Url::parse(access.url);
    if (!url) return url.error();
    const auto kind = kind_of(access.url, *url);
    if (!kind) return kind.error();
    return (*kind)->examine(*url, access);
}

guard::Result<std::string> needed_rights(const Access& access, const std::string& prefix) {
    const auto url = Url::parse(access.url);
    if (!url) return url.error();
    const auto kind = kind_of(access.url, *url);
    if (!kind) return kind.error();
    return (*kind)->needed_rights(*url, access, prefix);
}

}  // namespace store
