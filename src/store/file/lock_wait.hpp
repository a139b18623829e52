#pragma once

#include <atomic>
#include <csignal>
#include <memory>
#include <thread>

#include "guard/descriptor.hpp"
#include "guard/result.hpp"

namespace store::file {

/// Waits for a lock of flock(2) in a thread of its own: the kernel has no descriptor that becomes
/// ready when a lock is free, and flock blocks. The thread stands in the kernel's queue like any
/// other waiter and is woken by it. One such object may exist at a time.
class LockWait {
public:
    /// Starts to wait for the lock of `fd`'s open file description.
    static guard::Result<std::unique_ptr<LockWait>> start(int fd);

    /// Leaves the queue, if the wait has not ended yet.
    ~LockWait();
    LockWait(const LockWait&) = delete;
    LockWait& operator=(const LockWait&) = delete;

    /// For poll(2): readable as soon as the wait has ended.
    [[nodiscard]] int ended() const noexcept { return ended_.get(); }

    /// Once it has ended: 0 where the lock is ours, else errno. Does not wait for the thread's end,
    /// since others wait for the slot; the destructor does.
    [[nodiscard]] int error() const noexcept;

private:
    LockWait() noexcept;
    void wait(int fd);

    guard::Descriptor ended_;
    std::atomic<bool> runs_ = false;
    std::atomic<bool> abandoned_ = false;
    std::atomic<int> error_ = 0;
    struct sigaction previous_ {};
    std::thread thread_;
};

}  // namespace store::file
