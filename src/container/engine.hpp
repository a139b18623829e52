#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/call.hpp"
#include "container/processes.hpp"
#include "container/target.hpp"
#include "guard/clock.hpp"

namespace container {

/// The engine that a target's client talks to, asked by calls like the client's own.
class Engine {
public:
    /// No call lasts beyond `until`, and none longer than a few seconds.
    Engine(const Target& target, std::string id, guard::Deadline until)
        : target_(target), id_(std::move(id)), until_(until) {}

    Answer operator()(std::vector<std::string> words) const;

    /// Whether the container runs; none where the engine does not say.
    struct State {
        bool running = false;
        bool has_execs = true;  ///< an exec's first process runs, or is about to; true if unknown
    };
    [[nodiscard]] std::optional<State> state() const;

    /// The container's processes, as the engine's host sees them with their environment; none where
    /// it cannot show them so.
    [[nodiscard]] std::optional<std::vector<Process>> processes() const;

    /// Sends `signal` to the exec's processes, or to its first one alone, by a shell in the
    /// container; 0 only looks. How many there are; none where that cannot be had.
    [[nodiscard]] std::optional<std::size_t> signal_inside(int signal,
                                                           bool first_alone = false) const;

    /// The containers with the mark, as (id, status) such as "Up 2 seconds"; none where the engine
    /// does not say.
    struct Container {
        std::string id;
        std::string status;
    };
    [[nodiscard]] std::optional<std::vector<Container>> marked() const;

    [[nodiscard]] std::string mark() const;
    /// What the last call that went wrong has said.
    [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }

private:
    struct Seen {
        std::size_t found = 0;
        std::vector<std::string> unreadable;  ///< users
    };
    [[nodiscard]] std::optional<Seen> run_script(std::vector<std::string> as_user, int signal,
                                                 bool first_alone) const;
    [[nodiscard]] std::optional<bool> is_gone() const;

    const Target& target_;
    std::string id_;
    guard::Deadline until_;
    mutable std::string complaint_;
};

}  // namespace container
