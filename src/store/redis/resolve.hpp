#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "guard/poller.hpp"
#include "guard/result.hpp"

namespace store::redis {

struct SocketAddress {
    sockaddr_storage storage;
    socklen_t length;
};

/// The addresses of `host`, in the order getaddrinfo(3) prefers. A numeric address is answered at
/// once; a name is looked up in a thread, since getaddrinfo blocks and cannot be interrupted: when
/// `poller` is, the thread is left to itself.
[[nodiscard]] guard::Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                                                const std::string& port,
                                                                guard::Deadline until,
                                                                guard::Poller& poller);

}  // namespace store::redis
