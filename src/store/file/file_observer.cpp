#include "store/file/file_observer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "store/file/directory.hpp"
#include "store/file/file_store.hpp"
#include "store/file/holder.hpp"
#include "store/file/lock_file.hpp"
#include "store/file/lock_table.hpp"

namespace store::file {
namespace {

using guard::Error;
using guard::Fault;
using guard::Poller;
using guard::Result;

SlotState state_of(const std::string& key, const LockFile& file, const LockTable& table) {
    const auto lockers = table.find(file.fd());
    SlotState slot{key, ""};
    if (lockers.holder != 0) slot.holder = holder_of(file, table);
    slot.waiters = lockers.waiters;
    return slot;
}

class FileObserver final : public Observer {
public:
    explicit FileObserver(std::string directory) : directory_(std::move(directory)) {}

    Result<std::vector<SlotState>> held(const std::string& prefix, Poller& poller) override;
    Result<SlotState> look(const std::string& key, Poller& poller) override;
    Result<Broken> take_away(const std::string& key, const std::string& holder,
                             const std::string& token, Poller& poller) override;

private:
    std::string directory_;
};

Result<std::vector<SlotState>> FileObserver::held(const std::string& prefix, Poller&) {
    const auto directory = Directory::open(directory_);
    if (!directory) return directory.error();
    const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir(directory->path().c_str()), closedir);
    if (!list)
        return Error{Fault::unreachable, "cannot list lock directory '" + directory->path() + "'"};
    const auto table = LockTable::read();
    const auto start = file_name(prefix);
    std::vector<SlotState> slots;
    while (const dirent* entry = readdir(list.get())) {
        const std::string name = entry->d_name;
        if (!name.starts_with(start)) continue;
        const auto file = LockFile::open(*directory, name);
        if (!file) continue;  // no lock file, or none that may be read
        auto slot = state_of(key_of_file(name), *file, table);
        if (!slot.holder.empty()) slots.push_back(std::move(slot));
    }
    std::ranges::sort(slots, {}, &SlotState::key);
    return slots;
}

Result<SlotState> FileObserver::look(const std::string& key, Poller&) {
    const auto directory = Directory::open(directory_);
    if (!directory) return directory.error();
    const auto name = file_name(key);
    if (faccessat(directory->fd(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return SlotState{key, ""};  // nobody has been in yet, and looking shall not make it
    const auto file = LockFile::open(*directory, name);
    if (!file) return file.error();
    return state_of(key, *file, LockTable::read());
}

Result<Broken> FileObserver::take_away(const std::string&, const std::string&, const std::string&,
                                       Poller&) {
    return Error{Fault::usage,
                 "a lock of a file: store cannot be broken, as it ends with its holder alone: end "
                 "that process, by kill(1)"};
}

}  // namespace

Result<std::unique_ptr<Observer>> observe(const Url& url, const Access&, const guard::Reporter&) {
    auto directory = directory_in(url);
    if (!directory) return directory.error();
    return std::unique_ptr<Observer>(std::make_unique<FileObserver>(std::move(*directory)));
}

}  // namespace store::file
