#include "bench/tools.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "support/eventually.hpp"

namespace bench {
namespace {

/// Until a server does what it is there for.
void wait_for(const Words& request) {
    support::require_soon(request[0] + ": its server does not answer",
                          [&] { return support::Process(request).wait() == 0; });
}

std::string first_line_of(const Words& argv) {
    support::Process process(argv);
    process.wait();
    const auto out = process.out();
    return out.substr(0, out.find('\n'));
}

std::string local(const std::string& port) {
    return "127.0.0.1:" + port;
}

}  // namespace

Words Tool::around(const Words& command) const {
    Words argv = prefix;
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
}

Toolbox::Toolbox(const Options& options) : options_(options) {
    add_ours();
    const auto flock = found_in_path("flock");
    if (flock.empty()) throw std::runtime_error("flock is not in PATH");
    versions_.push_back(first_line_of({flock, "--version"}));
    add({"flock", {flock, dir_ / "flock"}});
    const auto server = options.by_socket ? redis_.socket() : local(redis_.port());
    add({"poller", {installed(options.poller), server, "bench-poller"}, {"set", "eval"}});
    add_etcd();
    add_consul();
}

bool Toolbox::is_wanted(const std::string& name) const {
    return options_.only.empty() || std::ranges::find(options_.only, name) != options_.only.end();
}

void Toolbox::add(Tool tool) {
    if (is_wanted(tool.name)) tools_.push_back(std::move(tool));
}

void Toolbox::add_ours() {
    const auto url = options_.by_socket ? redis_.unix_url() : redis_.url();
    setenv("SANDBOX_LOCK_STORE", url.c_str(), 1);
    const Words requests{"evalsha", "eval", "hello", "subscribe", "client|tracking"};
    const auto words = [&](const std::string& program, const Words& options) {
        Words argv{installed(program), "-q"};
        argv.insert(argv.end(), options.begin(), options.end());
        argv.emplace_back("agent:bench");
        return argv;
    };
    add({"redis", words(options_.program, {}), requests});
    add({"file:", words(options_.program, {"--store", "file:" + dir_ / "locks"})});
    for (const auto& other : options_.others) add({other, words(other, {}), requests});
    versions_.push_back(first_line_of({options_.program, "--version"}));
    versions_.push_back("redis " + redis_.value_of("redis_version", {"INFO", "server"}));
}

/// A copy, as one is when it is installed. The linker writes its file piece by piece, and so it
/// lies in memory, which makes its start a tenth slower.
std::string Toolbox::installed(const std::string& program) const {
    auto name = program;
    std::ranges::replace(name, '/', '_');
    const auto copy = dir_ / name;
    if (std::filesystem::exists(copy)) return copy;
    support::write_file(copy, support::read_file(program));
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    return copy;
}

void Toolbox::add_etcd() {
    if (!is_wanted("etcdctl")) return;
    const auto server = found_in_path("etcd");
    const auto client = found_in_path("etcdctl");
    if (server.empty() || client.empty()) {
        missing_.emplace_back("etcdctl");
        return;
    }
    const auto url = "http://" + local(support::free_port());
    const auto peers = "http://" + local(support::free_port());
    servers_.emplace_back(Words{server, "--data-dir", dir_ / "etcd", "--listen-client-urls", url,
                                "--advertise-client-urls", url, "--listen-peer-urls", peers,
                                "--log-level", "error"});
    wait_for({client, "--endpoints", url, "put", "ready", "yes"});
    versions_.push_back(first_line_of({client, "version"}));
    add({"etcdctl", {client, "--endpoints", url, "lock", "bench"}, {}, true});
}

void Toolbox::add_consul() {
    if (!is_wanted("consul")) return;
    const auto program = found_in_path("consul");
    if (program.empty()) {
        missing_.emplace_back("consul");
        return;
    }
    const auto port = support::free_port();
    const auto address = "-http-addr=" + local(port);
    servers_.emplace_back(
        Words{program, "agent", "-dev", "-bind=127.0.0.1", "-http-port=" + port, "-dns-port=-1",
              "-grpc-port=-1", "-server-port=" + support::free_port(),
              "-serf-lan-port=" + support::free_port(), "-serf-wan-port=" + support::free_port()});
    wait_for({program, "kv", "put", address, "ready", "yes"});
    versions_.push_back(first_line_of({program, "version"}));
    add({"consul",
         {program, "lock", address, "-child-exit-code", "-shell=false", "bench"},
         {},
         true});
}

}  // namespace bench
