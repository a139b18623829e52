#include "support/listening_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdexcept>

namespace support {

ListeningSocket::ListeningSocket() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket.get(), name, size) != 0 || listen(socket.get(), 16) != 0 ||
        getsockname(socket.get(), name, &size) != 0)
        throw std::runtime_error("no port to listen at");
    port = std::to_string(ntohs(address.sin_port));
}

}  // namespace support
