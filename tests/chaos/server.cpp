#include "chaos/server.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace chaos {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream{text};
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Only the server is ever killed, not the machine, so what was written is there without fsync(2).
std::vector<std::string> options_of(const std::vector<std::string>& addresses,
                                    const std::string& directory) {
    std::vector<std::string> options{"--appendonly", "yes",      "--appendfsync",    "no",
                                     "--dir",        directory,  "--protected-mode", "no",
                                     "--bind",       "127.0.0.1"};
    options.insert(options.end(), addresses.begin(), addresses.end());
    return options;
}

}  // namespace

Server::Server(const std::vector<std::string>& addresses)
    : node_({.options = options_of(addresses, dir_ / ""), .environment = clock_.environment()}) {
    node_.wait_old();
}

void Server::set_clock(Duration by) {
    const Duration now = BootClock::now().time_since_epoch();
    ahead_ = std::max(ahead_ + by, emptied_ - now);
    most_ahead_ = std::max(most_ahead_, ahead_);
    clock_.set(ahead_);
}

void Server::start_empty() {
    std::filesystem::remove_all(dir_ / "appendonlydir");
    std::filesystem::remove_all(dir_ / "appendonly.aof");  // before Redis 7
    set_clock(most_ahead_ - ahead_);
    emptied_ = BootClock::now().time_since_epoch() + ahead_;
    node_.start();
}

std::vector<std::string> Server::keys_beyond(Duration longest) {
    std::vector<std::string> beyond;
    for (const auto& key : lines_of(node_.command({"KEYS", "*"}).value_or(""))) {
        if (key.ends_with(":fence")) continue;
        const auto left = node_.command({"PTTL", key}).value_or("-1");
        const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
        if (left == "-1" || std::stoll(left) > most)
            beyond.push_back(key + ", " + left + " ms left");
    }
    return beyond;
}

std::vector<std::string> Server::held_slots() {
    std::vector<std::string> held;
    for (const auto& key : lines_of(node_.command({"KEYS", "agentscope*"}).value_or("")))
        held.push_back(key);
    return held;
}

}  // namespace chaos
