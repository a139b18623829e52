#pragma once

#include <string>
#include <utility>
#include <variant>

namespace guard {

/// What kind of thing went wrong: enough to choose an exit status (DESIGN section 6).
enum class Fault {
    usage,          ///< the command line
    configuration,  ///< a configuration file, an environment variable, a URL
    unreachable,    ///< the store does not answer, or cannot serve now
    denied,         ///< the store refused the login or a right
    taken,          ///< somebody else holds the slot and the wait time is over
    interrupted,    ///< a signal arrived
    system,         ///< fork, pipe and the like
    internal,       ///< a defect of this program
};

struct Error {
    Fault fault;
    std::string text;  ///< one line for a person; never holds a secret
};

/// A value or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const noexcept { return held_.index() == 0; }
    T& operator*() { return std::get<0>(held_); }
    const T& operator*() const { return std::get<0>(held_); }
    T* operator->() { return &std::get<0>(held_); }
    const T* operator->() const { return &std::get<0>(held_); }
    [[nodiscard]] const Error& error() const { return std::get<1>(held_); }

private:
    std::variant<T, Error> held_;
};

/// The value of a step that has only success to give.
using Done = std::monostate;

}  // namespace guard
