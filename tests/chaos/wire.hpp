#pragma once

#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "chaos/evidence.hpp"
#include "guard/descriptor.hpp"
#include "support/listening_socket.hpp"

namespace chaos {

/// A way to the server's UNIX socket that can be tampered with, in a thread of its own.
class Wire {
public:
    enum class State {
        open,
        slow,       ///< all takes a while
        cut,        ///< connections are reset, new ones, too
        held_up,    ///< nothing comes through until it is open again
        swallowing  ///< nothing comes through, and then the connections are reset
    };

    explicit Wire(std::string server_socket);
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    void become(State state, Duration delay = {});
    [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + listener_.port; }

private:
    struct Piece {
        Time due;
        std::string bytes;
    };
    /// Bytes on the way from one end to the other.
    struct Lane {
        std::deque<Piece> pieces;
        bool ended = false;  ///< nothing more will come
    };
    struct Pair {
        guard::Descriptor client;
        guard::Descriptor server;
        Lane up;
        Lane down;
        bool lost = false;  ///< what is sent vanishes
    };

    void run();
    void enter(State state);
    void accept_one();
    void read_from(const guard::Descriptor& end, Lane& lane, bool lost);
    bool deliver(Lane& lane, const guard::Descriptor& end) const;
    bool serve(Pair& pair, short client, short server);
    [[nodiscard]] int patience() const;

    std::string server_socket_;
    support::ListeningSocket listener_;
    guard::Descriptor wake_;
    std::mutex asking_;
    State asked_ = State::open;
    Duration asked_delay_{};
    bool stops_ = false;

    State state_ = State::open;
    Duration delay_{};
    std::list<Pair> pairs_;
    std::thread thread_;
};

}  // namespace chaos
