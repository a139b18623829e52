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
/// once. A name is looked up by a child process, `getent ahosts`: getaddrinfo blocks and cannot be
/// interrupted, but a child can be killed; and its modules (nsswitch.conf(5)) are shared libraries,
/// for which a program that is linked statically is the wrong place.
[[nodiscard]] guard::Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                                                const std::string& port,
                                                                guard::Deadline until,
                                                                guard::Poller& poller);

}  // namespace store::redis
