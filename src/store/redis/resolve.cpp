#include "store/redis/resolve.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>
#include <sstream>

#include "guard/descriptor.hpp"

namespace store::redis {
namespace {

using guard::Descriptor;
using guard::Error;
using guard::Fault;
using guard::Result;

template <class Name>
SocketAddress packed(const Name& name) {
    SocketAddress address{};
    std::memcpy(&address.storage, &name, sizeof name);
    address.length = sizeof name;
    return address;
}

/// An IPv6 address may have a zone, `fe80::1%eth0`: ipv6(7), sin6_scope_id.
std::optional<SocketAddress> numeric_v6(std::string text, in_port_t port) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = port;
    if (const auto mark = text.find('%'); mark != text.npos) {
        name.sin6_scope_id = if_nametoindex(text.c_str() + mark + 1);
        if (name.sin6_scope_id == 0)
            std::from_chars(text.data() + mark + 1, text.data() + text.size(), name.sin6_scope_id);
        text.resize(mark);
    }
    if (inet_pton(AF_INET6, text.c_str(), &name.sin6_addr) != 1) return std::nullopt;
    return packed(name);
}

std::optional<SocketAddress> numeric(const std::string& text, in_port_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = port;
    if (inet_pton(AF_INET, text.c_str(), &name.sin_addr) == 1) return packed(name);
    return numeric_v6(text, port);
}

/// A child process that looks a name up; killed and reaped with the object.
class LookUp {
public:
    static Result<LookUp> start(const std::string& host);
    LookUp(LookUp&& other) noexcept
        : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}
    ~LookUp() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        // Whoever serves SIGCHLD may have been faster; then there is nothing left to wait for.
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

    /// All that it prints. Interrupted and timed out like any wait of `poller`.
    Result<std::string> read_all(const std::string& host, guard::Deadline until,
                                 guard::Poller& poller) const;

private:
    LookUp(pid_t pid, Descriptor output) : pid_(pid), output_(std::move(output)) {}
    pid_t pid_;
    Descriptor output_;
};

Result<LookUp> LookUp::start(const std::string& host) {
    const auto failed = [](int number) {
        return Error{Fault::system, std::string("cannot run getent to look up a host's name: ") +
                                        std::strerror(number) +
                                        ": install it, or use the host's address"};
    };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return failed(errno);
    Descriptor read_end{ends[0]};
    const Descriptor write_end{ends[1]};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // getent takes no "--", so a name that starts with '-' is refused before.
    const std::array<const char*, 4> argv{"getent", "ahosts", host.c_str(), nullptr};
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, argv[0], &actions, nullptr,
                                   const_cast<char* const*>(argv.data()), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return failed(error);
    return LookUp{pid, std::move(read_end)};
}

Result<std::string> LookUp::read_all(const std::string& host, guard::Deadline until,
                                     guard::Poller& poller) const {
    std::string text;
    for (std::array<char, 4096> part;;) {
        switch (poller.wait(output_.get(), POLLIN, until)) {
            case guard::Wake::interrupted:
                return Error{Fault::interrupted, "interrupted"};
            case guard::Wake::timeout:
                return Error{Fault::unreachable, "the look-up of host '" + host + "' does not end"};
            case guard::Wake::ready:
                break;
        }
        const ssize_t got = read(output_.get(), part.data(), part.size());
        if (got == 0) return text;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
}

/// Of lines such as `127.0.0.1  STREAM localhost`, one for each kind of socket.
std::vector<SocketAddress> addresses_in(const std::string& text, in_port_t port) {
    std::vector<SocketAddress> addresses;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        std::string address;
        std::string kind;
        std::istringstream{line} >> address >> kind;
        if (kind != "STREAM") continue;
        if (const auto found = numeric(address, port)) addresses.push_back(*found);
    }
    return addresses;
}

}  // namespace

Result<std::vector<SocketAddress>> resolve(const std::string& host, const std::string& port,
                                           guard::Deadline until, guard::Poller& poller) {
    const in_port_t port_number = htons(static_cast<std::uint16_t>(std::stoi(port)));
    if (const auto address = numeric(host, port_number)) return std::vector{*address};
    const Error unknown{Fault::unreachable, "cannot look up host '" + host + "': no such name"};
    if (host.starts_with('-')) return unknown;

    const auto look_up = LookUp::start(host);
    if (!look_up) return look_up.error();
    const auto text = look_up->read_all(host, until, poller);
    if (!text) return text.error();
    auto addresses = addresses_in(*text, port_number);
    if (addresses.empty()) return unknown;
    return addresses;
}

}  // namespace store::redis
