#include "chaos/wire.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace chaos {
namespace {

guard::Descriptor connect_to(const std::string& path) {
    guard::Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return {};
    return socket;
}

/// Its close(2) will tell the other end that something went wrong.
void reset_on_close(const guard::Descriptor& socket) {
    const linger at_once{1, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

Wire::Wire(std::string server_socket)
    : server_socket_(std::move(server_socket)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    // Room for all who come at once: whom the kernel turns away tries again only after a second.
    listen(listener_.socket.get(), SOMAXCONN);
    thread_ = std::thread([this] { run(); });
}

Wire::~Wire() {
    {
        const std::scoped_lock lock{asking_};
        stops_ = true;
    }
    eventfd_write(wake_.get(), 1);
    thread_.join();
}

void Wire::become(State state, Duration delay) {
    {
        const std::scoped_lock lock{asking_};
        asked_ = state;
        asked_delay_ = delay;
    }
    eventfd_write(wake_.get(), 1);
}

void Wire::run() {
    for (;;) {
        std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}, {listener_.socket.get(), POLLIN, 0}};
        for (const auto& pair : pairs_) {
            entries.push_back({pair.up.ended ? -1 : pair.client.get(), POLLIN, 0});
            entries.push_back({pair.down.ended ? -1 : pair.server.get(), POLLIN, 0});
        }
        poll(entries.data(), entries.size(), patience());
        {
            const std::scoped_lock lock{asking_};
            if (stops_) return;
            eventfd_t ignored = 0;
            eventfd_read(wake_.get(), &ignored);
            delay_ = asked_delay_;
            if (state_ != asked_) enter(asked_);
        }
        // Those that enter() has closed are not among the entries.
        auto entry = entries.begin() + 2;
        for (auto pair = pairs_.begin(); pair != pairs_.end(); entry += 2)
            pair = serve(*pair, entry[0].revents, entry[1].revents) ? std::next(pair)
                                                                    : pairs_.erase(pair);
        if (entries[1].revents != 0) accept_one();
    }
}

void Wire::enter(State state) {
    const State before = state_;
    state_ = state;
    const bool swallows = state == State::swallowing;
    for (auto& pair : pairs_) {
        if (swallows) pair.lost = true;
        const bool breaks = state == State::cut || (before == State::swallowing && pair.lost);
        if (!breaks) continue;
        reset_on_close(pair.client);
        pair.up = {.pieces = {}, .ended = true};
        pair.down = {.pieces = {}, .ended = true};
    }
}

/// Until the next piece is due, in ms.
int Wire::patience() const {
    if (state_ == State::held_up) return -1;
    Time first = Time::max();
    for (const auto& pair : pairs_)
        for (const Lane* lane : {&pair.up, &pair.down})
            if (!lane->pieces.empty()) first = std::min(first, lane->pieces.front().due);
    if (first == Time::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - BootClock::now());
    return std::max(0, static_cast<int>(left.count()));
}

void Wire::accept_one() {
    Pair pair;
    pair.client = guard::Descriptor{
        accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!pair.client) return;
    if (state_ != State::cut) pair.server = connect_to(server_socket_);
    if (!pair.server) {
        reset_on_close(pair.client);
        return;
    }
    pair.lost = state_ == State::swallowing;
    const int on = 1;
    setsockopt(pair.client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pairs_.push_back(std::move(pair));
}

void Wire::read_from(const guard::Descriptor& end, Lane& lane, bool lost) {
    std::array<char, 16384> bytes{};
    const auto got = recv(end.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) {
        lane.ended = true;
    } else if (!lost) {
        const Time due = BootClock::now() + (state_ == State::slow ? delay_ : Duration{});
        const Time last = lane.pieces.empty() ? due : std::max(due, lane.pieces.back().due);
        lane.pieces.push_back({last, {bytes.data(), static_cast<std::size_t>(got)}});
    }
}

/// False where nothing will go this way any more.
bool Wire::deliver(Lane& lane, const guard::Descriptor& end) const {
    if (state_ == State::held_up) return true;
    while (!lane.pieces.empty() && lane.pieces.front().due <= BootClock::now()) {
        const auto& bytes = lane.pieces.front().bytes;
        // Small pieces, which the socket's buffer always has room for.
        if (send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(bytes.size()))
            return false;
        lane.pieces.pop_front();
    }
    return !lane.ended || !lane.pieces.empty();
}

/// False where the pair is done with. What a client has sent before it left still arrives.
bool Wire::serve(Pair& pair, short client, short server) {
    if (client != 0 && !pair.up.ended) read_from(pair.client, pair.up, pair.lost);
    if (server != 0 && !pair.down.ended) read_from(pair.server, pair.down, pair.lost);
    const bool up = deliver(pair.up, pair.server);
    const bool down = deliver(pair.down, pair.client);
    return up && down;
}

}  // namespace chaos
