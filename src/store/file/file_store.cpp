#include "store/file/file_store.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "store/file/directory.hpp"
#include "store/file/holder.hpp"
#include "store/file/lock_file.hpp"
#include "store/file/lock_wait.hpp"

namespace store::file {
namespace {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Deadline;
using guard::Descriptor;
using guard::Done;
using guard::Duration;
using guard::Error;
using guard::Fault;
using guard::Holding;
using guard::Lease;
using guard::LeasedRun;
using guard::Poller;
using guard::Result;
using guard::Wake;

/// How often a holder looks whether its file is still there.
constexpr Duration look_interval = 1s;

/// At least the time, so that it still grows after the file was removed.
std::uint64_t next_fence(std::uint64_t last) noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    return std::max(last + 1, static_cast<std::uint64_t>(time));
}

class FileStore final : public Store {
public:
    FileStore(std::string directory, guard::Claim claim)
        : directory_(std::move(directory)), claim_(std::move(claim)) {}

    Result<Lease> enter(const guard::Patience& patience, Poller& poller,
                        const OnTaken& on_taken) override;
    Holding hold(const Lease& lease, LeasedRun& run) override;
    Result<Done> release(Deadline until, Poller& poller) override;
    Result<Done> release_after(Duration span, Deadline until, Poller& poller) override;
    Result<bool> held_by(const std::string& token, Deadline until, Poller& poller) override;
    bool leases_lapse() const noexcept override { return false; }
    Descriptor anchor() const override;

private:
    Result<LockFile> open_file() const;
    Result<Done> lock(LockFile& file, const guard::Patience& patience, Poller& poller,
                      const OnTaken& on_taken);
    Result<Lease> sign();

    std::string directory_;
    guard::Claim claim_;
    std::unique_ptr<LockWait> wait_;
    std::optional<LockFile> file_;  ///< while we are in
};

Result<LockFile> FileStore::open_file() const {
    const auto directory = Directory::open(directory_);
    if (!directory) return directory.error();
    return LockFile::open(*directory, file_name(claim_.key));
}

Result<Lease> FileStore::enter(const guard::Patience& patience, Poller& poller,
                               const OnTaken& on_taken) {
    for (;;) {
        auto file = open_file();
        if (!file) return file.error();
        if (const auto locked = lock(*file, patience, poller, on_taken); !locked)
            return locked.error();
        // If it was removed while we waited, others lock a new one.
        if (!file->has_its_name()) continue;
        file_ = std::move(*file);
        return sign();
    }
}

Result<Done> FileStore::lock(LockFile& file, const guard::Patience& patience, Poller& poller,
                             const OnTaken& on_taken) {
    const auto free = file.try_lock();
    if (!free) return free.error();
    if (*free) return Done{};
    if (patience.once) return Error{Fault::taken, holder_of(file)};

    wait_.reset();
    auto wait = LockWait::start(file.fd());
    if (!wait) return wait.error();
    wait_ = std::move(*wait);
    for (;;) {
        const Deadline tell_again = on_taken({holder_of(file)});
        switch (poller.wait(wait_->ended(), POLLIN, std::min(tell_again, patience.until))) {
            case Wake::interrupted:
                wait_.reset();
                return Error{Fault::interrupted, "interrupted"};
            case Wake::timeout:
                if (BootClock::now() < patience.until) continue;
                wait_.reset();
                return Error{Fault::taken, holder_of(file)};
            case Wake::ready:
                const int error = wait_->error();
                if (error != 0) return file.lock_failed(error);
                return Done{};
        }
    }
}

Result<Lease> FileStore::sign() {
    const std::uint64_t fence = next_fence(file_->read().fence);
    if (const auto written = file_->write({fence, claim_.token}); !written) {
        file_.reset();
        return written.error();
    }
    return Lease{guard::never, fence};
}

Holding FileStore::hold(const Lease&, LeasedRun& run) {
    // Not by inotify(7): to close that takes the kernel 10 ms, as much as three whole runs.
    while (file_->has_its_name())
        if (run.wait(-1, 0, guard::after(BootClock::now(), look_interval)) == Wake::interrupted)
            return {};
    return {true, "'" + file_->path() + "' was removed or replaced"};
}

Result<Done> FileStore::release(Deadline, Poller&) {
    if (!file_) return Done{};
    // Unlocked rather than closed: the warden has a copy of the descriptor and is still there.
    file_->unlock();
    file_.reset();
    return Done{};
}

Result<Done> FileStore::release_after(Duration span, Deadline until, Poller& poller) {
    (void)poller.wait(-1, 0, guard::after(BootClock::now(), span));
    return release(until, poller);
}

Result<bool> FileStore::held_by(const std::string& token, Deadline, Poller&) {
    auto file = open_file();
    if (!file) return file.error();
    const auto free = file->try_lock();
    if (!free) return free.error();
    return !*free && holder_of(*file) == token;
}

Descriptor FileStore::anchor() const {
    return Descriptor{file_ ? fcntl(file_->fd(), F_DUPFD_CLOEXEC, 0) : -1};
}

}  // namespace

Result<std::string> directory_in(const Url& url) {
    const auto& [host, port] = url.servers.front();
    const bool elsewhere = (!host.empty() && host != "localhost") || url.servers.size() > 1;
    if (elsewhere || port || url.user || url.password || !url.query.empty())
        return Error{Fault::configuration,
                     "the store's URL has more than a directory: the form is file:DIR, or file: "
                     "for the default directory"};
    if (url.path.find('\0') != url.path.npos)
        return Error{Fault::configuration, "the store's URL has a directory with a NUL"};
    return url.path;
}

Result<std::unique_ptr<Store>> open(const Url& url, const Access&, guard::Claim claim,
                                    guard::Reporter) {
    auto directory = directory_in(url);
    if (!directory) return directory.error();
    return std::unique_ptr<Store>(
        std::make_unique<FileStore>(std::move(*directory), std::move(claim)));
}

}  // namespace store::file
