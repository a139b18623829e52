#include "support/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "support/secret.hpp"
#include "support/temp_dir.hpp"

namespace support {
namespace {

guard::Descriptor scratch(const std::string& text = {}) {
    guard::Descriptor file{memfd_create("scratch", MFD_CLOEXEC)};
    if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::runtime_error("memfd");
    lseek(file.get(), 0, SEEK_SET);
    return file;
}

std::string all_of(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0;
         (got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()))) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(got));
    return text;
}

[[noreturn]] void become(const std::vector<std::string>& argv, const Launch& launch, int in,
                         int out, int err) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0L, 0L, 0L);
    setsid();
    if (launch.terminal >= 0) {
        ioctl(launch.terminal, TIOCSCTTY, 0);
        in = out = err = launch.terminal;
    }
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    for (const auto& variable : launch.environment)
        if (const auto equals = variable.find('='); equals == variable.npos)
            unsetenv(variable.c_str());
        else
            setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    // Whatever the tests were started from, such as nohup(1).
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE})
        ::signal(number, SIG_DFL);
    if (launch.before_exec) launch.before_exec();
    std::vector<char*> words;
    for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
}

/// Whether a password stands where the program does not look for one, and so cannot wipe it.
bool hides_secret(const std::vector<std::string>& argv) {
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const bool in_store = argv[i].starts_with("--store=") || argv[i - 1] == "--store";
        if (!in_store && shows_secret(argv[i])) return true;
    }
    return false;
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const Launch& launch)
    : starts_with_secret_(std::ranges::any_of(argv, shows_secret)),
      keeps_secret_(hides_secret(argv)),
      out_(scratch()),
      err_(scratch()) {
    const auto input = scratch(launch.input);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) become(argv, launch, input.get(), out_.get(), err_.get());
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      starts_with_secret_(other.starts_with_secret_),
      keeps_secret_(other.keeps_secret_),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      status_(other.status_) {}

Process::~Process() {
    if (pid_ == 0) return;
    if (!status_) {
        watch();
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    (void)out();
    (void)err();
}

void Process::signal(int number) const {
    watch();
    ::kill(pid_, number);
}

bool Process::ended() {
    int status = 0;
    watch();
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
}

int Process::wait(std::chrono::steady_clock::duration limit) {
    if (!eventually([&] { return ended(); }, limit))
        throw std::runtime_error("process " + std::to_string(pid_) +
                                 " does not end; it wrote: " + err());
    return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

std::string Process::out() const {
    auto text = all_of(out_.get());
    check_no_secret(text, "the output of a process");
    return text;
}

std::string Process::err() const {
    auto text = all_of(err_.get());
    check_no_secret(text, "the messages of a process");
    return text;
}

/// Looks at the arguments of all that run.
void Process::watch() const {
    if (status_ || keeps_secret_) return;
    if (starts_with_secret_ && out().empty() && err().empty()) return;
    std::vector<pid_t> tree{pid_};
    for (std::size_t i = 0; i < tree.size(); ++i) {
        check_no_secret(read_file("/proc/" + std::to_string(tree[i]) + "/cmdline"),
                        "the arguments of a process");
        for (const pid_t child : children_of(tree[i])) tree.push_back(child);
    }
}

char state_of(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto paren = stat.rfind(')');
    return paren == stat.npos || paren + 2 >= stat.size() ? '\0' : stat[paren + 2];
}

bool alive(pid_t pid) {
    const char state = state_of(pid);
    return state != '\0' && state != 'Z' && state != 'X';
}

std::vector<pid_t> pids_in(const std::string& text) {
    std::istringstream words{text};
    std::vector<pid_t> pids;
    for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
    return pids;
}

std::vector<pid_t> processes_with(const std::string& variable) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0 || !alive(pid)) continue;
        const std::string environment = '\0' + read_file(entry.path() / "environ");
        if (environment.find('\0' + variable + '\0') != environment.npos) found.push_back(pid);
    }
    return found;
}

bool rests_in_read(pid_t pid) {
    const std::string reading = std::to_string(SYS_read) + " ";
    return eventually([&] {
        return read_file("/proc/" + std::to_string(pid) + "/syscall").starts_with(reading);
    });
}

std::vector<pid_t> children_of(pid_t pid) {
    const auto id = std::to_string(pid);
    return pids_in(read_file("/proc/" + id + "/task/" + id + "/children"));
}

}  // namespace support
