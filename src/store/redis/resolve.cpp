#include "store/redis/resolve.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "guard/descriptor.hpp"

namespace store::redis {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;

struct Found {
    int status = 0;  ///< getaddrinfo(3)'s
    int error = 0;   ///< errno, where the status is EAI_SYSTEM
    std::vector<SocketAddress> addresses;
};

Found look_up(const std::string& host, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICSERV | flags;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    Found found;
    found.status = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
    found.error = errno;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, [](addrinfo* first) {
        if (first != nullptr) freeaddrinfo(first);
    });
    for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
        auto& address = found.addresses.emplace_back();
        std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
        address.length = at->ai_addrlen;
    }
    return found;
}

/// Shared with the thread, which may outlive the wait for it.
struct LookUp {
    std::string host;
    std::string port;
    guard::Descriptor done{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    Found found;
};

void run_in_thread(const std::shared_ptr<LookUp>& job) {
    std::thread([job] {
        job->found = look_up(job->host, job->port, 0);
        eventfd_write(job->done.get(), 1);
    }).detach();
}

}  // namespace

Result<std::vector<SocketAddress>> resolve(const std::string& host, const std::string& port,
                                           guard::Deadline until, guard::Poller& poller) {
    if (auto numeric = look_up(host, port, AI_NUMERICHOST); numeric.status == 0)
        return std::move(numeric.addresses);

    const auto job = std::make_shared<LookUp>();
    job->host = host;
    job->port = port;
    try {
        run_in_thread(job);
    } catch (const std::system_error& error) {
        return Error{Fault::system,
                     std::string("cannot start a thread for a name look-up: ") + error.what()};
    }
    switch (poller.wait(job->done.get(), POLLIN, until)) {
        case guard::Wake::interrupted:
            return Error{Fault::interrupted, "interrupted"};
        case guard::Wake::timeout:
            return Error{Fault::unreachable, "the look-up of host '" + host + "' does not end"};
        case guard::Wake::ready:
            break;
    }
    eventfd_t count = 0;
    eventfd_read(job->done.get(), &count);  // orders the thread's writes before our reads
    const Found& found = job->found;
    if (found.status == 0) return found.addresses;
    const char* why =
        found.status == EAI_SYSTEM ? std::strerror(found.error) : gai_strerror(found.status);
    return Error{Fault::unreachable, "cannot look up host '" + host + "': " + why};
}

}  // namespace store::redis
