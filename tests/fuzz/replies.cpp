#include "store/redis/replies.hpp"

#include <algorithm>
#include <string>

#include "cli/display.hpp"
#include "fuzz/target.hpp"
#include "store/redis/cluster.hpp"
#include "store/redis/scan.hpp"
#include "store/redis/server_findings.hpp"

namespace {

using fuzz::require;
using namespace store::redis;

struct FreeReader {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
};

void check_lists(const redisReply& reply) {
    for (std::size_t i = 0; i <= reply.elements; ++i) {
        const bool there = element_at(reply, i) != nullptr;
        require(!there || i < reply.elements, "no element behind the last");
        require(there || (text_at(reply, i).empty() && !number_at(reply, i)), "nor text of it");
    }
    (void)field(reply, "ip");

    bool master = true;
    const auto nodes = nodes_in(reply);
    for (const auto& node : nodes) {
        require(master || !node.is_master, "masters come first");
        master = node.is_master;
        const auto same = [&](const Node& other) {
            return other.server.host == node.server.host && other.server.port == node.server.port;
        };
        require(std::ranges::count_if(nodes, same) == 1, "each node is there once");
    }
    Scan scan{"p:"};
    require(scan.take(reply) == (element_at(reply, 1) != nullptr), "a page has a list");
}

void check_error(std::string_view text) {
    fuzz::require_shown(plain_words(text));
    (void)passes_by_itself(text);
    if (const auto turn = redirection_in(text))
        require(turn->server.port && text.find(*turn->server.port) != text.npos,
                "a redirection has a port");
}

void check_info(std::string_view text) {
    const Info info{text};
    const ServerSettings settings{std::string(text), std::string(text), std::string(text)};
    const Hello hello{info.text("server"), info.text("redis_version"), info.text("mode"),
                      info.text("role")};
    for (const auto& finding :
         {find_server(hello, info), find_role(hello, info), find_eviction(info),
          find_persistence(info, settings), find_replicas(info, settings, 1)})
        require(!finding.text.empty(), "a finding says something");
}

void check(const redisReply& reply) {
    check_lists(reply);
    const auto text = text_of(reply);
    if (is_error(reply)) check_error(text);
    if (reply.type == REDIS_REPLY_STRING) check_info(text);
    for (std::size_t i = 0; i < reply.elements; ++i) check(*reply.element[i]);
}

}  // namespace

/// The bytes as a server sends them.
void fuzz::replies(std::string_view input) {
    const std::unique_ptr<redisReader, FreeReader> reader{redisReaderCreate()};
    reader->maxelements = 64;  // what is only announced costs memory
    redisReaderFeed(reader.get(), input.data(), input.size());
    for (;;) {
        void* reply = nullptr;
        if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK || reply == nullptr) return;
        check(*Reply{static_cast<redisReply*>(reply)});
    }
}
