#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "guard/clock.hpp"
#include "guard/descriptor.hpp"
#include "guard/result.hpp"

namespace run {

/// What keeper and warden tell each other. Each sees the other's death as end of file.
struct Message {
    enum Kind : std::uint32_t {
        // keeper to warden
        start,     ///< bytes: an Order (see order.hpp); descriptor: to be kept open until the end
        deadline,  ///< number: the new end of the lease, in ns of CLOCK_BOOTTIME
        signal,    ///< number: a signal for the command
        noticed,   ///< number: a signal that reached the command without our help
        stop,      ///< end the tree: TERM now; number: when to send KILL, in ns of CLOCK_BOOTTIME
        // warden to keeper
        started,    ///< number: the command's pid
        ending,     ///< the warden ends the tree because the lease runs out
        killing,    ///< the tree is being killed by KILL
        survivor,   ///< number: the pid of a process that KILL does not end
        cleaning,   ///< the tree is gone; cleaning up begins
        work_left,  ///< a client had ended before its work in a container
        cleaned,    ///< all that was to be cleaned up is
        unclean,    ///< bytes: what could not be cleaned up
        as_asked,   ///< a signal of ours has ended the command
        ended,      ///< number: the wait status; the tree is gone as far as it has to be
        no_exec,    ///< number: errno of the exec that failed
        no_start,   ///< bytes: why; nothing has run
        late,       ///< the lease was about to end before the command could start; nothing has run
    };
    Kind kind;
    std::int64_t number = 0;
    std::string bytes = {};
    guard::Descriptor descriptor = {};  ///< the other end gets a copy: unix(7), SCM_RIGHTS
};

/// One end of the socket pair between keeper and warden.
class Channel {
public:
    /// A connected pair, close-on-exec.
    static guard::Result<std::pair<Channel, Channel>> pair();

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    void close() noexcept { socket_.reset(); }

    /// Sends whole; false where the other end is gone.
    bool send(const Message& message) const noexcept;

    /// Sends if there is room: an end that is stopped must not stop the other.
    bool offer(const Message& message) const noexcept;

    /// Whether a message or the end of file is there.
    [[nodiscard]] bool readable() const noexcept;

    /// Waits for the next message; none at end of file.
    [[nodiscard]] std::optional<Message> receive() const;

private:
    explicit Channel(guard::Descriptor socket) noexcept : socket_(std::move(socket)) {}
    bool transmit(const Message& message, int flags) const noexcept;

    guard::Descriptor socket_;
};

}  // namespace run
