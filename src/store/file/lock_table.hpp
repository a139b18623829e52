#pragma once

#include <sys/types.h>

#include <iosfwd>
#include <vector>

namespace store::file {

/// Who has locked a file by flock(2), and who waits for that.
struct Lockers {
    pid_t holder = 0;  ///< 0 where nobody is known
    long long waiters = 0;
};

/// The locks of flock(2) as the kernel lists them: proc(5), /proc/locks. Processes of other PID
/// namespaces are not on it.
class LockTable {
public:
    static LockTable read();
    /// The same from text of that form.
    static LockTable read(std::istream& locks);

    [[nodiscard]] Lockers find(int fd) const noexcept;

private:
    struct Entry {
        dev_t device;
        ino_t inode;
        pid_t pid;
        bool waits;
    };
    std::vector<Entry> entries_;
};

}  // namespace store::file
