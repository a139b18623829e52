#include "support/docker_engine.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace support {
namespace {

/// Runs dockerd as PID 1's child, so that orphans are reaped. It would leave things in /run, /opt
/// and /etc/docker: it gets directories of its own there. Arguments: the directory, dockerd's own.
const char* const engine_script = R"(
set -e
dir=$1
shift
mkdir "$dir/etc" "$dir/run" "$dir/opt"
cp /etc/passwd /etc/group "$dir/etc"
for name in etc run opt; do
    if [ -d "/$name" ]; then mount --bind "$dir/$name" "/$name"; fi
done
dockerd "$@" &
wait
)";

/// Prints a root file system as an archive. Argument: a directory for it.
const char* const image_script = R"(
set -e
busybox=$(command -v busybox)
mkdir -p "$1/bin" "$1/dev" "$1/etc" "$1/proc" "$1/sys" "$1/tmp"
cp "$busybox" "$1/bin/busybox"
for name in $("$busybox" --list); do
    [ -e "$1/bin/$name" ] || ln -s busybox "$1/bin/$name"
done
echo root:x:0:0::/:/bin/sh >"$1/etc/passwd"
echo nobody:x:65534:65534::/:/bin/sh >>"$1/etc/passwd"
tar -C "$1" -cf "$1.tar" .
)";

bool installed(const std::string& program) {
    return Process({"sh", "-c", "command -v \"$0\"", program}).wait() == 0;
}

/// What is left of the containers' control groups; there is one in each hierarchy.
void remove_control_groups(const std::string& name) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    std::vector<fs::path> found;
    const auto note = [&](const fs::path& top) {
        if (!fs::is_directory(top / name, ignored)) return;
        found.push_back(top / name);
        for (const auto& entry : fs::recursive_directory_iterator(top / name, ignored))
            if (entry.is_directory(ignored)) found.push_back(entry.path());
    };
    note("/sys/fs/cgroup");
    for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup", ignored))
        if (hierarchy.is_directory(ignored) && !hierarchy.is_symlink(ignored))
            note(hierarchy.path());
    for (auto directory = found.rbegin(); directory != found.rend(); ++directory)
        rmdir(directory->c_str());
}

/// Where `docker compose` may be; also if there is no such directory.
std::string plugins_of_tester() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    const auto config = variable("DOCKER_CONFIG");
    return (config.empty() ? variable("HOME") + "/.docker" : config) + "/cli-plugins";
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of('\n');
    if (end == text.npos) return "";
    const auto start = text.rfind('\n', end);
    return text.substr(start == text.npos ? 0 : start + 1, end - start);
}

}  // namespace

DockerEngine::DockerEngine() : id_(std::to_string(getpid())), image_("sandbox-lock-test:" + id_) {
    for (const char* program : {"docker", "busybox"})
        if (!installed(program)) throw NoEngine(std::string("there is no ") + program);
    // The tester's own configuration may change the client's ways; but the plugins are wanted.
    environment_ = {"DOCKER_CONFIG=" + dir_ / "config"};
    std::filesystem::create_directory(dir_ / "config");
    std::filesystem::create_directory_symlink(plugins_of_tester(), dir_ / "config/cli-plugins");
    if (!answers()) start();
    import_image();
}

DockerEngine::Own::~Own() {
    // The namespace's first process is reaped only when all others are gone.
    for (const pid_t pid : children_of(process.pid())) ::kill(pid, SIGKILL);
    eventually([&] { return process.ended(); });
    remove_control_groups(control_group);
}

DockerEngine::~DockerEngine() {
    if (own_) return;
    Process clean(
        {"sh", "-c",
         "docker ps -aq --filter label=\"$1\" | xargs -r docker rm -f; docker rmi -f \"$2\"", "sh",
         label(), image_},
        {.environment = environment_});
    eventually([&] { return clean.ended(); });
}

void DockerEngine::start() {
    if (geteuid() != 0) throw NoEngine("no engine answers, and only root can start one");
    if (!installed("dockerd")) throw NoEngine("no engine answers, and there is no dockerd");
    write_file(dir_ / "daemon.json", "{}");
    const std::string host = "unix://" + dir_ / "socket";
    environment_.insert(environment_.end(),
                        {"DOCKER_HOST=" + host, "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY"});
    const std::string control_group = "sandbox-lock-test-" + id_;
    const std::vector<std::string> words{
        "unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc",  //
        "sh", "-c", engine_script, "sh", dir_ / "",                               //
        "--config-file", dir_ / "daemon.json", "--data-root", dir_ / "data", "--exec-root",
        dir_ / "exec", "--pidfile", dir_ / "pid", "--host", host, "--storage-driver", "vfs",
        "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/" + control_group,
        // Needs no right over the machine's network.
        "--iptables=false", "--ip6tables=false", "--bridge=none"};
    own_ = std::make_unique<Own>(words, control_group);
    auto& dockerd = own_->process;
    if (!eventually([&] { return dockerd.ended() || answers(); }, 15s) || dockerd.ended())
        throw NoEngine("dockerd does not start: " + last_line(dockerd.err()));
}

bool DockerEngine::answers() const {
    Process version({"docker", "version"}, {.environment = environment_});
    return eventually([&] { return version.ended(); }, 5s) && version.wait() == 0;
}

void DockerEngine::import_image() const {
    Process archive({"sh", "-c", image_script, "sh", dir_ / "image"});
    if (archive.wait() != 0) throw NoEngine("no image can be made: " + last_line(archive.err()));
    docker({"import", "--change", "ENV PATH=/bin", dir_ / "image.tar", image_});
    Process trial(run({}, {"true"}), {.environment = environment_});
    if (trial.wait() != 0)
        throw NoEngine("the engine runs no container of busybox: " + last_line(trial.err()));
}

std::vector<std::string> DockerEngine::run(const std::vector<std::string>& options,
                                           const std::vector<std::string>& command) const {
    std::vector<std::string> words{"docker", "run",     "--rm", "--network",
                                   "none",   "--label", label()};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(image_);
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

std::string DockerEngine::docker(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words{"docker"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Process client(words, {.environment = environment_});
    if (client.wait() != 0)
        throw std::runtime_error("docker " + arguments.front() + ": " + client.err());
    auto text = client.out();
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

bool DockerEngine::has(const std::string& name) const {
    return !docker({"ps", "--all", "--quiet", "--filter", "name=^" + name + "$"}).empty();
}

DockerEngine& shared_engine() {
    static DockerEngine engine;
    return engine;
}

}  // namespace support
