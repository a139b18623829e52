#include "store/file/lock_wait.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/file.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace store::file {
namespace {

/// Gets the thread out of flock(2). Nobody else uses it, and it does nothing.
int wake_signal() noexcept {
    return SIGRTMIN;
}

}  // namespace

guard::Result<std::unique_ptr<LockWait>> LockWait::start(int fd) {
    std::unique_ptr<LockWait> wait{new LockWait};
    try {
        wait->thread_ = std::thread([waiting = wait.get(), fd] { waiting->wait(fd); });
    } catch (const std::system_error& error) {
        return guard::Error{
            guard::Fault::system,
            std::string("cannot start a thread to wait for the lock: ") + error.what()};
    }
    // The process may fork next, and not while a thread is being set up: what is locked then stays
    // locked in the child.
    wait->runs_.wait(false);
    return wait;
}

LockWait::LockWait() noexcept : ended_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};  // without SA_RESTART: flock fails with EINTR
    sigaction(wake_signal(), &nothing, &previous_);
}

void LockWait::wait(int fd) {
    runs_ = true;
    runs_.notify_one();
    sigset_t wakes;
    sigemptyset(&wakes);
    sigaddset(&wakes, wake_signal());
    pthread_sigmask(SIG_UNBLOCK, &wakes, nullptr);
    while (!abandoned_ && flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        error_ = errno;
        break;
    }
    eventfd_write(ended_.get(), 1);
}

LockWait::~LockWait() {
    abandoned_ = true;
    if (thread_.joinable()) {  // it may have failed to start
        // Again and again: the signal is lost if it comes just before flock blocks.
        for (pollfd entry{ended_.get(), POLLIN, 0}; ::poll(&entry, 1, 0) == 0; ::poll(&entry, 1, 1))
            pthread_kill(thread_.native_handle(), wake_signal());
        thread_.join();
    }
    sigaction(wake_signal(), &previous_, nullptr);
}

int LockWait::error() const noexcept {
    return error_;
}

}  // namespace store::file
