#include "run/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace run {
namespace {

struct Header {
    Message::Kind kind;
    std::uint32_t length;
    std::int64_t number;
};

/// What sendmsg(2) and recvmsg(2) take for one descriptor beside the bytes.
union Passing {
    char bytes[CMSG_SPACE(sizeof(int))];
    cmsghdr aligned;
};

void attach(msghdr& whole, Passing& passing, int descriptor) noexcept {
    whole.msg_control = passing.bytes;
    whole.msg_controllen = sizeof passing.bytes;
    cmsghdr* const control = CMSG_FIRSTHDR(&whole);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
}

guard::Descriptor detach(msghdr& whole) noexcept {
    const cmsghdr* const control = CMSG_FIRSTHDR(&whole);
    if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return {};
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
    return guard::Descriptor{descriptor};
}

/// A message's first bytes, with which its descriptor comes. None at end of file.
ssize_t receive_first(int fd, Header& header, guard::Descriptor& descriptor) noexcept {
    iovec part{&header, sizeof header};
    Passing passing{};
    msghdr whole{};
    whole.msg_iov = &part;
    whole.msg_iovlen = 1;
    whole.msg_control = passing.bytes;
    whole.msg_controllen = sizeof passing.bytes;
    ssize_t got = 0;
    do got = recvmsg(fd, &whole, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got > 0) descriptor = detach(whole);
    return got;
}

/// False at end of file or where the other end is gone.
bool receive_all(int fd, void* into, std::size_t size) noexcept {
    auto* at = static_cast<char*>(into);
    while (size > 0) {
        const ssize_t got = recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

bool send_all(int fd, const char* at, std::size_t size) noexcept {
    while (size > 0) {
        const ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= static_cast<std::size_t>(sent);
    }
    return true;
}

}  // namespace

guard::Result<std::pair<Channel, Channel>> Channel::pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return guard::Error{guard::Fault::system,
                            std::string("socketpair: ") + std::strerror(errno)};
    return std::pair{Channel{guard::Descriptor{ends[0]}}, Channel{guard::Descriptor{ends[1]}}};
}

bool Channel::send(const Message& message) const noexcept {
    return transmit(message, 0);
}

bool Channel::offer(const Message& message) const noexcept {
    return transmit(message, MSG_DONTWAIT);
}

bool Channel::transmit(const Message& message, int flags) const noexcept {
    Header header{message.kind, static_cast<std::uint32_t>(message.bytes.size()), message.number};
    // In one piece, so that the other end is woken once; the socket's buffer takes a header whole.
    std::array<iovec, 2> parts{{{&header, sizeof header},
                                {const_cast<char*>(message.bytes.data()), message.bytes.size()}}};
    msghdr whole{};
    whole.msg_iov = parts.data();
    whole.msg_iovlen = parts.size();
    Passing passing{};
    if (message.descriptor) attach(whole, passing, message.descriptor.get());
    const ssize_t sent = sendmsg(fd(), &whole, MSG_NOSIGNAL | flags);
    if (sent < 0 && errno == EINTR) return transmit(message, flags);
    if (sent < static_cast<ssize_t>(sizeof header)) return false;
    const auto done = static_cast<std::size_t>(sent) - sizeof header;
    return send_all(fd(), message.bytes.data() + done, message.bytes.size() - done);
}

bool Channel::readable() const noexcept {
    pollfd entry{fd(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
}

std::optional<Message> Channel::receive() const {
    Header header{};
    guard::Descriptor descriptor;
    const ssize_t got = receive_first(fd(), header, descriptor);
    if (got <= 0) return std::nullopt;
    const auto start = static_cast<std::size_t>(got);
    if (!receive_all(fd(), reinterpret_cast<char*>(&header) + start, sizeof header - start))
        return std::nullopt;
    Message message{header.kind, header.number, std::string(header.length, '\0'),
                    std::move(descriptor)};
    if (!receive_all(fd(), message.bytes.data(), message.bytes.size())) return std::nullopt;
    return message;
}

}  // namespace run
