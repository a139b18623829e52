#pragma once

#include <array>
#include <stdexcept>
#include <string_view>

#include "guard/result.hpp"

namespace fuzz {

// One function for each kind of text that comes from outside: it reads any bytes, and checks what
// has to hold for whatever was read. libfuzzer.cpp and replay.cpp drive it.

/// Something that has to hold does not.
class Broken : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

void require(bool holds, const char* what);

/// A person sees one line of it, without a control character, and a program one JSON object.
void require_shown(const guard::Error& error);

void isolation_key(std::string_view input);
void store_url(std::string_view input);
void duration(std::string_view input);
void configuration(std::string_view input);
void command_line(std::string_view input);
void owner_card(std::string_view input);
void replies(std::string_view input);
void lock_table(std::string_view input);

struct Target {
    std::string_view name;  ///< its corpus is the folder of this name
    void (*run)(std::string_view input);
};
inline constexpr std::array targets{
    Target{"isolation_key", isolation_key},
    Target{"store_url", store_url},
    Target{"duration", duration},
    Target{"configuration", configuration},
    Target{"command_line", command_line},
    Target{"owner_card", owner_card},
    Target{"replies", replies},
    Target{"lock_table", lock_table},
};

}  // namespace fuzz
