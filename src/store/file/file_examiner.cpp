#include "store/file/file_examiner.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/isolation_key.hpp"
#include "guard/owner_card.hpp"
#include "store/file/directory.hpp"
#include "store/file/file_observer.hpp"
#include "store/file/file_store.hpp"
#include "store/file/file_system.hpp"
#include "store/file/lock_file.hpp"

namespace store::file {
namespace {

using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;

constexpr guard::Patience at_once{.once = true};

void ignore(const guard::Report&) {}
guard::Deadline say_nothing(const Standing&) {
    return guard::never;
}

/// Who may take the locks in a directory: whoever may make files there.
Finding find_users(const Directory& directory, bool is_default) {
    struct stat status {};
    fstat(directory.fd(), &status);
    if ((status.st_mode & S_IWOTH) != 0)
        return {"users", Verdict::ok, "all users of this machine share it"};
    auto text = fmt::format("user {}", status.st_uid);
    if ((status.st_mode & S_IWGRP) != 0) text += fmt::format(" and group {}", status.st_gid);
    text += " alone";
    if (!is_default) return {"users", Verdict::ok, text};
    return {"users", Verdict::warn,
            text + ": the runs of others, such as cron's, do not see its locks",
            "name a directory that all share by --store file:DIR"};
}

/// The lock of a slot of its own, whose file is gone with the object.
class Trial {
public:
    Trial(const Url& url, const Access& access, const Directory& directory,
          const std::string& prefix)
        : url_(url),
          access_(access),
          directory_(directory),
          token_(new_token()),
          key_(guard::store_key(prefix,
                                {guard::Scope::session, "doctor-" + token_.substr(7, 32)})) {}
    ~Trial() { unlinkat(directory_.fd(), file_name(key_).c_str(), 0); }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    /// Whether a lock is taken, keeps a second one out, is seen, and lets it in when it is free.
    Result<Done> run(Poller& poller, const OnFinding& tell) {
        const auto first = store_for(token_);
        const auto second = store_for(new_token());
        if (const auto in = first->enter(at_once, poller, say_nothing); !in) return in.error();
        const auto kept_out = second->enter(at_once, poller, say_nothing);
        if (kept_out || kept_out.error().fault != Fault::taken)
            return Error{Fault::unreachable, "two had the same lock at once"};
        tell(find_status(poller));
        (void)first->release(guard::never, poller);
        if (const auto in = second->enter(at_once, poller, say_nothing); !in) return in.error();
        (void)second->release(guard::never, poller);
        tell({"lock", Verdict::ok, "one was taken, kept a second one out, and was freed"});
        return Done{};
    }

private:
    static std::string new_token() {
        return guard::make_token(guard::OwnerCard::of_this_process("sandbox-lock doctor"));
    }
    /// The URL has no faults, or there would be no directory.
    [[nodiscard]] std::unique_ptr<Store> store_for(const std::string& token) const {
        return std::move(*open(url_, access_, {key_, token, {}}, ignore));
    }
    [[nodiscard]] Finding find_status(Poller& poller) const {
        const auto observer = observe(url_, access_, ignore);
        const auto seen = (*observer)->look(key_, poller);
        if (seen && seen->holder == token_) return {"status", Verdict::ok, "shows who holds it"};
        return {"status", Verdict::warn, "does not show who holds it: /proc/locks lacks the lock",
                "mount /proc; in a container, look from the one that holds"};
    }

    const Url& url_;
    const Access& access_;
    const Directory& directory_;
    std::string token_;
    std::string key_;
};

class FileExaminer final : public Examiner {
public:
    FileExaminer(const Url& url, const Access& access, std::string directory)
        : url_(url), access_(access), directory_(std::move(directory)) {}

    Result<Done> examine(const Practice& practice, Poller& poller, const OnFinding& tell) override {
        const auto directory = Directory::open(directory_);
        if (!directory) {
            tell({"directory", Verdict::fail, directory.error().text,
                  "put that right, or name another directory by --store file:DIR"});
            return Done{};
        }
        tell({"directory", Verdict::ok,
              fmt::format("{}, on a file system of type {}", directory->path(),
                          file_system_type(directory->fd()))});
        tell(find_users(*directory, directory_.empty()));
        const auto tried = Trial{url_, access_, *directory, practice.key_prefix}.run(poller, tell);
        if (!tried)
            tell({"lock", Verdict::fail, tried.error().text,
                  "name a directory that you may write to by --store file:DIR"});
        return Done{};
    }

    void tidy(guard::Deadline, Poller&) override {}  // nothing there waits, or stays

private:
    Url url_;
    Access access_;
    std::string directory_;
};

}  // namespace

Result<std::unique_ptr<Examiner>> examine(const Url& url, const Access& access) {
    auto directory = directory_in(url);
    if (!directory) return directory.error();
    return std::unique_ptr<Examiner>(
        std::make_unique<FileExaminer>(url, access, std::move(*directory)));
}

Result<std::string> needed_rights(const Url&, const Access&, const std::string&) {
    return Error{Fault::usage,
                 "a file: store has no users of its own; for who may use its directory see "
                 "sandbox-lock doctor"};
}

}  // namespace store::file
