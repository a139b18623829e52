#include "support/cutting_proxy.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace support {
namespace {

guard::Descriptor connect_to(const std::string& path) {
    guard::Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return {};
    return socket;
}

}  // namespace

CuttingProxy::CuttingProxy(std::string server_socket, const Cut& cut)
    : server_socket_(std::move(server_socket)),
      cut_(cut),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

CuttingProxy::~CuttingProxy() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
}

std::vector<std::size_t> CuttingProxy::ends(Way way) {
    const std::scoped_lock lock{noting_};
    return ends_[index(way)];
}

void CuttingProxy::run() {
    for (;;) {
        std::vector<pollfd> entries{{stop_.get(), POLLIN, 0}, {listener_.socket.get(), POLLIN, 0}};
        for (const auto& pair : pairs_) {
            entries.push_back({pair.silent ? -1 : pair.client.get(), POLLIN, 0});
            entries.push_back({pair.silent || pair.ending ? -1 : pair.server.get(), POLLIN, 0});
        }
        poll(entries.data(), entries.size(), -1);
        if (entries[0].revents != 0) return;
        auto entry = entries.begin() + 2;
        for (auto& pair : pairs_) {
            const short client = (entry++)->revents;
            const short server = (entry++)->revents;
            serve(pair, client, server);
        }
        std::erase_if(pairs_, [](const Pair& pair) { return !pair.client; });
        if (entries[1].revents != 0 && listener_.socket) accept_one();
    }
}

void CuttingProxy::accept_one() {
    Pair pair{guard::Descriptor{accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)},
              connect_to(server_socket_)};
    if (!pair.client || !pair.server) return;
    const int on = 1;
    setsockopt(pair.client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pairs_.push_back(std::move(pair));
    if (is_due()) cut(pairs_.back());
}

void CuttingProxy::serve(Pair& pair, short client, short server) {
    if (pair.ending) {
        std::array<char, 4096> dropped{};
        if (client != 0 && recv(pair.client.get(), dropped.data(), dropped.size(), 0) <= 0)
            pair.client.reset();
        return;
    }
    bool goes_on = client == 0 || forward(pair, Way::to_server);
    const bool is_whole = pair.server && !pair.silent;
    if (goes_on && server != 0 && is_whole) goes_on = forward(pair, Way::to_client);
    if (!goes_on) pair = {};
}

/// False where that end is closed.
bool CuttingProxy::forward(Pair& pair, Way way) {
    const bool up = way == Way::to_server;
    const int from = up ? pair.client.get() : pair.server.get();
    const int to = up ? pair.server.get() : pair.client.get();
    std::array<char, 16384> bytes{};
    auto most = bytes.size();
    if (!has_cut_ && way == cut_.way) most = std::min(most, cut_.after - passed(way));
    const auto got = recv(from, bytes.data(), most, 0);
    if (got <= 0) return false;
    const auto size = static_cast<std::size_t>(got);
    // Small pieces, which the socket's buffer always has room for.
    if (send(to, bytes.data(), size, MSG_NOSIGNAL) != got) return false;
    passed_[index(way)] += size;
    {
        const std::scoped_lock lock{noting_};
        ends_[index(way)].push_back(passed(way));
    }
    if (is_due()) cut(pair);
    return true;
}

void CuttingProxy::cut(Pair& pair) {
    has_cut_ = true;
    if (cut_.for_good) listener_.socket.reset();
    if (cut_.manner == Manner::silence) {
        pair.silent = true;
        return;
    }
    pair.server.reset();
    if (cut_.manner == Manner::reset) {
        const linger at_once{1, 0};
        setsockopt(pair.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        pair.client.reset();
    } else {
        // With something unread, close(2) would reset it.
        shutdown(pair.client.get(), SHUT_WR);
        pair.ending = true;
    }
}

}  // namespace support
