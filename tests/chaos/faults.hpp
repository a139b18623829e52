#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "guard/clock.hpp"

namespace chaos {

/// Each kind of fault. Those of processes first: a signal and to whom.
enum class Kind : std::uint8_t {
    kill_keeper,
    term_keeper,
    int_keeper,
    stop_keeper,
    kill_warden,
    term_warden,
    int_warden,
    stop_warden,
    kill_command,
    term_command,
    int_command,
    stop_command,
    kill_waiter,
    term_waiter,
    int_waiter,
    stop_waiter,
    restart_empty,
    restart_persistent,
    pause_short,
    pause_long,
    drop_clients,
    delay,
    cut,
    stall,
    silence,
    lose_all,
    lose_answers,
    clock_slip,
    clock_forward,
    clock_back,
};
inline constexpr std::size_t kinds = 30;
inline constexpr std::size_t process_kinds = 16;

inline constexpr std::array<std::string_view, kinds> kind_names{
    "KILL keeper",
    "TERM keeper",
    "INT keeper",
    "STOP keeper",
    "KILL warden",
    "TERM warden",
    "INT warden",
    "STOP warden",
    "KILL command",
    "TERM command",
    "INT command",
    "STOP command",
    "KILL waiter",
    "TERM waiter",
    "INT waiter",
    "STOP waiter",
    "restart, empty",
    "restart, persistent",
    "server stopped, shorter than a ttl",
    "server stopped, longer than a ttl",
    "CLIENT KILL",
    "traffic delayed",
    "traffic cut",
    "traffic held up, and let through late",
    "traffic lost, connections open",
    "packets lost in a network namespace",
    "packets of answers lost in a network namespace",
    "clock forward, within the margin",
    "clock forward, over a ttl",
    "clock back"};

[[nodiscard]] constexpr std::string_view name_of(Kind kind) noexcept {
    return kind_names[static_cast<std::size_t>(kind)];
}

/// Whom a fault of a process hits.
enum class Role { keeper, warden, command, waiter };
[[nodiscard]] constexpr bool hits_process(Kind kind) noexcept {
    return static_cast<std::size_t>(kind) < process_kinds;
}
[[nodiscard]] constexpr Role role_of(Kind kind) noexcept {
    return static_cast<Role>(static_cast<std::size_t>(kind) / 4);
}
/// KILL, TERM, INT or STOP.
[[nodiscard]] int signal_of(Kind kind) noexcept;

/// A fault to come.
struct Fault {
    Kind kind{};
    guard::Duration pause{};   ///< before it
    guard::Duration length{};  ///< until it is undone, where it can be
    guard::Duration jump{};    ///< of the clock, for those of the clock
    std::uint32_t pick = 0;    ///< chooses whom it hits
};

/// An endless series of faults of processes, or of the server, that depends on the seed alone. Each
/// kind comes once before any comes again.
class Schedule {
public:
    enum Track { of_processes, of_server };

    Schedule(std::uint64_t seed, Track track);
    [[nodiscard]] Fault next();

private:
    guard::Duration between(guard::Duration least, guard::Duration most);

    Track track_;
    std::mt19937_64 random_;
    std::vector<Kind> bag_;
};

}  // namespace chaos
