#include "run/order.hpp"

#include <cstdint>
#include <cstring>

namespace run {
namespace {

/// Both ends are the same program on the same machine: plain bytes, strings with their length.
struct Fixed {
    guard::Deadline deadline;
    guard::Duration margin;
    guard::Duration grace;
    std::uint32_t own_group;  // no bool: padding would send bytes that were never set
    std::uint32_t wait_descendants;
    std::size_t words;
    std::size_t variables;
};

void append(std::string& out, const std::vector<std::string>& strings) {
    for (const auto& text : strings) {
        const std::size_t size = text.size();
        out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
    }
}

std::vector<std::string> take(std::string_view& bytes, std::size_t count) {
    std::vector<std::string> strings;
    strings.reserve(count);
    while (count-- > 0) {
        std::size_t size = 0;
        std::memcpy(&size, bytes.data(), sizeof size);
        strings.emplace_back(bytes.substr(sizeof size, size));
        bytes.remove_prefix(sizeof size + size);
    }
    return strings;
}

}  // namespace

std::string Order::serialized() const {
    const Fixed fixed{deadline,          margin, grace, own_group, wait_descendants, command.size(),
                      environment.size()};
    std::string out{reinterpret_cast<const char*>(&fixed), sizeof fixed};
    append(out, command);
    append(out, environment);
    append(out, {last_words});
    return out;
}

Order Order::deserialized(std::string_view bytes) {
    Fixed fixed{};
    std::memcpy(&fixed, bytes.data(), sizeof fixed);
    bytes.remove_prefix(sizeof fixed);
    auto command = take(bytes, fixed.words);
    auto environment = take(bytes, fixed.variables);
    auto last_words = take(bytes, 1);
    return {std::move(command),
            std::move(environment),
            std::move(last_words.front()),
            fixed.deadline,
            fixed.margin,
            fixed.grace,
            fixed.own_group != 0,
            fixed.wait_descendants != 0};
}

}  // namespace run
