#include "store/redis/cluster.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "store/redis/replies.hpp"

namespace store::redis {
namespace {

/// The CRC-16/XMODEM of each byte.
constexpr auto crc_of_byte = [] {
    std::array<unsigned, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned crc = byte << 8U;
        for (int bit = 0; bit < 8; ++bit)
            crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xFFFFU;
        table.at(byte) = crc;
    }
    return table;
}();

unsigned crc16(std::string_view bytes) noexcept {
    unsigned crc = 0;
    for (const char byte : bytes)
        crc = (crc << 8U & 0xFFFFU) ^ crc_of_byte[(crc >> 8U) ^ static_cast<std::uint8_t>(byte)];
    return crc;
}

std::string_view cut_word(std::string_view& text) noexcept {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

void add(std::vector<Node>& nodes, const redisReply& node, bool is_master) {
    const auto port = number_at(node, 1);
    if (!port) return;
    HostPort server{std::string(text_at(node, 0)), std::to_string(*port)};
    if (server.host == "?") return;  // cluster-preferred-endpoint-type hostname, and it has none
    const auto same = [&](const Node& known) {
        return known.server.host == server.host && known.server.port == server.port;
    };
    if (std::ranges::none_of(nodes, same)) nodes.push_back({std::move(server), is_master});
}

}  // namespace

std::optional<Redirection> redirection_in(std::string_view error_reply) {
    const auto kind = cut_word(error_reply);
    if (kind != "MOVED" && kind != "ASK") return std::nullopt;
    cut_word(error_reply);  // the hash slot
    const auto address = cut_word(error_reply);
    const auto colon = address.rfind(':');  // an IPv6 address has no brackets here
    if (colon == address.npos) return std::nullopt;
    return Redirection{
        kind == "ASK",
        {std::string(address.substr(0, colon)), std::string(address.substr(colon + 1))}};
}

std::vector<Node> nodes_in(const redisReply& slots) {
    std::vector<Node> nodes;
    for (const std::size_t first : {2U, 3U})  // from, to, master, replicas
        for (std::size_t range = 0; range < slots.elements; ++range) {
            const std::size_t end = first == 2 ? 3 : slots.element[range]->elements;
            for (std::size_t i = first; i < end; ++i)
                if (const auto* node = element_at(*slots.element[range], i))
                    add(nodes, *node, first == 2);
        }
    return nodes;
}

std::string_view hash_tag(std::string_view key) noexcept {
    const auto open = key.find('{');
    const auto close = open == key.npos ? key.npos : key.find('}', open + 1);
    return close == key.npos ? std::string_view{} : key.substr(open + 1, close - open - 1);
}

unsigned hash_slot(std::string_view key) noexcept {
    const auto tag = hash_tag(key);
    return crc16(tag.empty() ? key : tag) % 16384;
}

}  // namespace store::redis
