#include "support/cluster.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace support {
namespace {

constexpr int slot_count = 16384;

void require_ok(const RedisNode& node, const std::vector<std::string>& words) {
    const auto answer = node.command(words);
    if (answer != "OK")
        throw std::runtime_error("cluster: " + words[0] + " " + words[1] + ": " +
                                 answer.value_or("no answer"));
}

std::string id_of(const RedisNode& node) {
    return node.command({"CLUSTER", "MYID"}).value_or("");
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream{text};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

/// What the node says about itself in CLUSTER NODES: id, address, flags, master, ping, pong, epoch,
/// link, then the ranges of slots. Empty if it does not run.
std::vector<std::string> own_line(const RedisNode& node) {
    std::istringstream lines{node.runs() ? node.command({"CLUSTER", "NODES"}).value_or("") : ""};
    for (std::string line; std::getline(lines, line);)
        if (line.find("myself") != line.npos) return words_of(line);
    return {};
}

bool is_master(const std::vector<std::string>& line) {
    return line.size() >= 8 && line[2].find("master") != std::string::npos;
}

bool has_slot(const std::vector<std::string>& line, int slot) {
    return is_master(line) && std::any_of(line.begin() + 8, line.end(), [&](const auto& range) {
               if (range.front() == '[') return false;  // on its way
               const auto dash = range.find('-');
               const int first = std::stoi(range);
               return slot >= first &&
                      slot <= (dash == range.npos ? first : std::stoi(range.substr(dash + 1)));
           });
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
}

/// Whether the node serves, and knows three masters and three replicas, all well.
bool finds_all_well(const RedisNode& node) {
    const auto nodes = node.command({"CLUSTER", "NODES"}).value_or("");
    const bool is_linked = own_line(node).size() >= 8 &&
                           (is_master(own_line(node)) ||
                            node.value_of("master_link_status", {"INFO", "replication"}) == "up");
    return is_linked && node.value_of("cluster_state", {"CLUSTER", "INFO"}) == "ok" &&
           count(nodes, "\n") == 6 && count(nodes, "slave") == 3 && count(nodes, "fail") == 0 &&
           count(nodes, "handshake") == 0 && count(nodes, " disconnected") == 0;
}

}  // namespace

Cluster::Cluster(std::string password, bool tls) : password_(std::move(password)) {
    if (tls) {
        authority_ = std::make_unique<Authority>();
        identity_ = authority_->issue("DNS:localhost,IP:127.0.0.1");
    }
    for (int i = 0; i < 6; ++i) nodes_.emplace_back(node_setup());
    share_out_slots();
    join();
    heal();
    for (const auto& node : nodes_) node.wait_old();
}

NodeSetup Cluster::node_setup() {
    std::vector<std::string> options{"--cluster-enabled",
                                     "yes",
                                     "--cluster-node-timeout",
                                     "1000",
                                     "--cluster-replica-validity-factor",
                                     "0",
                                     "--repl-diskless-sync-delay",
                                     "0",
                                     "--repl-ping-replica-period",
                                     "1"};
    if (!authority_)
        return {.options = options, .password = password_, .port = free_cluster_port()};
    tls_ports_.push_back(free_cluster_port());
    options.insert(options.end(),
                   {"--tls-port", tls_ports_.back(), "--tls-auth-clients", "no", "--tls-cert-file",
                    identity_.cert, "--tls-key-file", identity_.key, "--tls-ca-cert-file",
                    authority_->cert(), "--tls-cluster", "yes", "--tls-replication", "yes"});
    return {.options = options, .password = password_};
}

/// The port by which the nodes know it.
const std::string& Cluster::bus_port(const RedisNode& node) const {
    const auto at = std::ranges::find_if(nodes_, [&](const auto& n) { return &n == &node; });
    return authority_ ? tls_ports_.at(static_cast<std::size_t>(at - nodes_.begin())) : node.port();
}

std::string Cluster::url(const RedisNode& node, const std::string& login) const {
    return (authority_ ? "rediss://" : "redis://") + (login.empty() ? "" : login + "@") +
           "127.0.0.1:" + bus_port(node);
}

void Cluster::share_out_slots() {
    std::array<std::vector<std::string>, 3> slots;
    for (int slot = 0; slot < slot_count; ++slot)
        slots.at(static_cast<std::size_t>(slot * 3 / slot_count)).push_back(std::to_string(slot));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        require_ok(nodes_[i], {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
        if (i >= slots.size()) continue;
        std::vector<std::string> words{"CLUSTER", "ADDSLOTS"};
        words.insert(words.end(), slots.at(i).begin(), slots.at(i).end());
        require_ok(nodes_[i], words);
    }
}

void Cluster::join() {
    for (const auto& node : nodes_)
        if (&node != &nodes_.front())
            require_ok(nodes_.front(), {"CLUSTER", "MEET", "127.0.0.1", bus_port(node)});
    for (std::size_t i = 3; i < nodes_.size(); ++i)
        require_soon("cluster: it does not come together", [&] {
            return nodes_[i].command({"CLUSTER", "REPLICATE", id_of(nodes_[i - 3])}) == "OK";
        });
}

std::vector<RedisNode*> Cluster::masters() {
    std::vector<RedisNode*> found;
    for (auto& node : nodes_)
        if (is_master(own_line(node))) found.push_back(&node);
    return found;
}

RedisNode& Cluster::master_of(const std::string& key) {
    const auto some = std::ranges::find_if(nodes_, [](const auto& node) { return node.runs(); });
    const int slot = std::stoi(*some->command({"CLUSTER", "KEYSLOT", key}));
    for (auto* master : masters())
        if (has_slot(own_line(*master), slot)) return *master;
    throw std::runtime_error("cluster: nobody has " + key);
}

RedisNode& Cluster::stranger_to(const std::string& key) {
    const auto& owner = master_of(key);
    for (auto* master : masters())
        if (master != &owner) return *master;
    throw std::runtime_error("cluster: there is one master alone");
}

RedisNode& Cluster::replica_of(const RedisNode& master) {
    const auto id = id_of(master);
    for (auto& node : nodes_)
        if (const auto line = own_line(node); line.size() >= 8 && line[3] == id) return node;
    throw std::runtime_error("cluster: a master has no replica");
}

Cluster::Move::Move(Cluster& cluster, const std::string& key, RedisNode& target)
    : from(cluster.master_of(key)),
      to(target),
      cluster_(cluster),
      slot_(*target.command({"CLUSTER", "KEYSLOT", key})) {}

void Cluster::Move::begin() const {
    require_ok(to, {"CLUSTER", "SETSLOT", slot_, "IMPORTING", id_of(from)});
    require_ok(from, {"CLUSTER", "SETSLOT", slot_, "MIGRATING", id_of(to)});
}

void Cluster::Move::move_key(const std::string& key) const {
    std::vector<std::string> words{"MIGRATE", "127.0.0.1", cluster_.bus_port(to), key, "0", "5000"};
    if (!cluster_.password_.empty()) words.insert(words.end(), {"AUTH", cluster_.password_});
    const auto answer = from.command(words);
    if (answer != "OK" && answer != "NOKEY")
        throw std::runtime_error("cluster: MIGRATE " + key + ": " + answer.value_or("no answer"));
}

void Cluster::Move::move_keys() const {
    std::istringstream keys{from.command({"CLUSTER", "GETKEYSINSLOT", slot_, "1000"}).value_or("")};
    for (std::string key; std::getline(keys, key);) move_key(key);
}

void Cluster::Move::finish() const {
    move_keys();
    const auto id = id_of(to);
    require_ok(to, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
    require_ok(from, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
    for (const auto* master : cluster_.masters())
        if (master != &to && master != &from)
            require_ok(*master, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
}

void Cluster::replace(RedisNode& master) {
    auto& replica = replica_of(master);
    master.kill();
    require_soon("cluster: a replica is not promoted", [&] {
        return is_master(own_line(replica)) && std::ranges::all_of(nodes_, [](const auto& node) {
                   return !node.runs() ||
                          node.value_of("cluster_state", {"CLUSTER", "INFO"}) == "ok";
               });
    });
}

bool Cluster::is_whole() {
    return std::ranges::all_of(nodes_, finds_all_well);
}

void Cluster::heal() {
    for (auto& node : nodes_)
        if (node.stopped())
            node.resume();
        else if (!node.runs())
            node.start();
    require_soon("cluster: it does not become whole", [&] { return is_whole(); });
}

Cluster& shared_cluster() {
    static Cluster cluster;
    cluster.heal();
    return cluster;
}

}  // namespace support
