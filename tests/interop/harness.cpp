#include "interop/harness.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <regex>
#include <stdexcept>

#include "support/program.hpp"

namespace interop {
namespace {

using namespace support;

/// In the build folder, since nothing is written beside the sources.
std::string compiled() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "interop-java";
}

std::string last_line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::optional<std::string> cannot_compile() {
    Process build({source_root() + "/tests/interop/java/build", compiled()});
    switch (build.wait(150s)) {
        case 0:
            return std::nullopt;
        case 77:
            return last_line(build.out());
        default:
            throw std::runtime_error("the Java side cannot be built: " + build.err());
    }
}

Harness::Harness(const RedisServer& redis) {
    // A socket rather than a pipe: MSG_NOSIGNAL, should the JVM have died.
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("socketpair");
    input_ = guard::Descriptor{ends[0]};
    const guard::Descriptor theirs{ends[1]};
    jvm_.emplace(std::vector<std::string>{"java", "@" + compiled() + "/arguments", "GuardMain",
                                          redis.port()},
                 Launch{.before_exec = [&theirs] { dup2(theirs.get(), STDIN_FILENO); }});
    tell({"guard", "builder", "", "", ""});
    tell({"store", "store", ""});
    tell({"guard", "quick", "", "", "20"});
    tell({"guard", "brief", "", std::to_string(static_cast<int>(brief_ttl * 1000)), ""});
}

void Harness::tell(const std::vector<std::string>& fields) const {
    std::string line;
    for (const auto& field : fields) line += (line.empty() ? "" : "\t") + field;
    line += '\n';
    if (send(input_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size()))
        throw std::runtime_error("the JVM has ended: " + jvm_->err());
}

bool Harness::has_said(const std::string& word, const std::string& id) const {
    return ("\n" + jvm_->out()).find("\n" + word + " " + id + "\n") != std::string::npos;
}

bool Harness::says(const std::string& word, const std::string& id) const {
    return eventually([&] { return has_said(word, id); });
}

std::string Harness::begin(const std::string& guard, const std::string& scope,
                           const std::string& value) const {
    static int entries = 0;
    const auto id = std::to_string(++entries);
    tell({"enter", id, guard, scope, value});
    return id;
}

std::string Harness::enter(const std::string& guard, const std::string& scope,
                           const std::string& value) const {
    const auto id = begin(guard, scope, value);
    if (!says("entered", id))
        throw std::runtime_error("the harness does not enter: " + jvm_->out() + jvm_->err());
    return id;
}

void Harness::leave(const std::string& id) const {
    tell({"leave", id});
    if (!says("left", id)) throw std::runtime_error("the harness does not leave: " + jvm_->err());
}

void Harness::kill() {
    jvm_->signal(SIGKILL);
    jvm_->wait();
}

const Harness& shared_harness() {
    static const Harness harness{shared_redis()};
    return harness;
}

bool sees_tries(const RedisServer& redis, long times) {
    const auto tries = [&] {
        const std::string name = "cmdstat_set:calls=";
        const auto stats = redis.command({"INFO", "commandstats"}).value_or("");
        const auto found = stats.find(name);
        return found == stats.npos ? 0L : std::stol(stats.substr(found + name.size()));
    };
    const long enough = tries() + times;
    return eventually([&] { return tries() >= enough; });
}

std::string token_in(const RedisServer& redis, const std::string& key) {
    return redis.command({"GET", key}).value_or("");
}

bool is_uuid(const std::string& token) {
    static const std::regex form{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"};
    return std::regex_match(token, form);
}

}  // namespace interop
