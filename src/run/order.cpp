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
    guard::Duration cleanup_timeout;
    std::uint32_t has_container;
    std::uint32_t is_exec;
    std::uint32_t removes;
    std::int32_t status_if_lost;
    std::int32_t wait_status;
    std::int32_t unused;
    std::size_t words;
    std::size_t variables;
    std::size_t cleanups;
    std::size_t client_words;
    std::size_t user_words;
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
    const container::Target target = container.value_or(container::Target{});
    const Fixed fixed{deadline,
                      margin,
                      grace,
                      own_group,
                      wait_descendants,
                      cleanup_timeout,
                      container.has_value(),
                      target.is_exec,
                      target.removes,
                      status_if_lost,
                      wait_status,
                      0,
                      command.size(),
                      environment.size(),
                      cleanups.size(),
                      target.client.size(),
                      target.as_user.size()};
    std::string out{reinterpret_cast<const char*>(&fixed), sizeof fixed};
    append(out, command);
    append(out, environment);
    append(out, {last_words, target.name, target.mark});
    append(out, cleanups);
    append(out, target.client);
    append(out, target.as_user);
    return out;
}

Order Order::deserialized(std::string_view bytes) {
    Fixed fixed{};
    std::memcpy(&fixed, bytes.data(), sizeof fixed);
    bytes.remove_prefix(sizeof fixed);
    auto command = take(bytes, fixed.words);
    auto environment = take(bytes, fixed.variables);
    auto texts = take(bytes, 3);
    auto cleanups = take(bytes, fixed.cleanups);
    auto client = take(bytes, fixed.client_words);
    auto as_user = take(bytes, fixed.user_words);
    std::optional<container::Target> target;
    if (fixed.has_container != 0)
        target = {fixed.is_exec != 0, fixed.removes != 0,  std::move(client),
                  std::move(as_user), std::move(texts[1]), std::move(texts[2])};
    return {std::move(command),    std::move(environment),
            std::move(texts[0]),   fixed.deadline,
            fixed.margin,          fixed.grace,
            fixed.own_group != 0,  fixed.wait_descendants != 0,
            std::move(target),     std::move(cleanups),
            fixed.cleanup_timeout, fixed.status_if_lost,
            fixed.wait_status};
}

}  // namespace run
