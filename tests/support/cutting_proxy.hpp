#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "guard/descriptor.hpp"
#include "support/listening_socket.hpp"

namespace support {

/// Which way bytes go.
enum class Way { to_server, to_client };

/// How a connection ends: for the client by RST, or by an orderly close; or it stays open and
/// nothing comes through any more. The server sees its end closed, but for a silence.
enum class Manner { reset, close, silence };

/// When a connection is cut: as soon as `after` bytes have gone that way, on all connections of the
/// proxy together. It happens once.
struct Cut {
    Way way = Way::to_server;
    std::size_t after = std::numeric_limits<std::size_t>::max();
    Manner manner = Manner::reset;
    bool for_good = false;  ///< nobody can connect after it
};

/// Stands between clients and the UNIX socket of a real server, in a thread of its own.
class CuttingProxy {
public:
    CuttingProxy(std::string server_socket, const Cut& cut);
    ~CuttingProxy();
    CuttingProxy(const CuttingProxy&) = delete;
    CuttingProxy& operator=(const CuttingProxy&) = delete;

    /// With `login`, such as USER:PASSWORD.
    [[nodiscard]] std::string url(const std::string& login = {}) const {
        return "redis://" + (login.empty() ? "" : login + "@") + "127.0.0.1:" + listener_.port;
    }
    /// How many bytes have gone that way so far.
    [[nodiscard]] std::size_t passed(Way way) const noexcept { return passed_[index(way)]; }
    /// Where the pieces ended in which that came: about those of requests and answers.
    [[nodiscard]] std::vector<std::size_t> ends(Way way);
    [[nodiscard]] bool has_cut() const noexcept { return has_cut_; }

private:
    struct Pair {
        guard::Descriptor client;
        guard::Descriptor server;
        bool silent = false;  ///< nothing comes through; both ends stay open
        bool ending = false;  ///< closed in an orderly way: what the client still sends is dropped
    };

    static std::size_t index(Way way) noexcept { return way == Way::to_client ? 1 : 0; }
    void run();
    void accept_one();
    void serve(Pair& pair, short client, short server);
    bool forward(Pair& pair, Way way);
    void cut(Pair& pair);
    [[nodiscard]] bool is_due() const noexcept {
        return !has_cut_ && passed(cut_.way) >= cut_.after;
    }

    std::string server_socket_;
    Cut cut_;
    ListeningSocket listener_;
    guard::Descriptor stop_;
    std::list<Pair> pairs_;
    std::array<std::atomic<std::size_t>, 2> passed_{};
    std::mutex noting_;
    std::array<std::vector<std::size_t>, 2> ends_;
    std::atomic<bool> has_cut_ = false;
    std::thread thread_;
};

}  // namespace support
