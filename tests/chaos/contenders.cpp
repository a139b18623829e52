#include "chaos/contenders.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "support/program.hpp"
#include "support/temp_dir.hpp"

namespace chaos {
namespace {

using namespace std::chrono_literals;

/// How a run reaches the server.
enum class Way { direct, wire, cable };

/// What a run is to do.
struct Plan {
    Run run;
    Way way = Way::direct;
    bool has_loose_ends = false;
    std::vector<std::string> options;
    std::vector<std::string> job;
};

std::string ms(long long count) {
    return std::to_string(count) + "ms";
}

Plan make_plan(std::uint64_t seed, int number, const Ground& ground) {
    std::seed_seq seeds{seed, std::uint64_t{1} << 20, static_cast<std::uint64_t>(number)};
    std::mt19937_64 random{seeds};
    const auto between = [&](int least, int most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    const auto one_in = [&](int n) { return between(1, n) == 1; };
    Plan plan;
    plan.run.slot = between(0, ground.slots - 1);
    plan.way = static_cast<Way>(between(0, ground.cable == nullptr ? 1 : 2));
    const int ttl = one_in(8) ? 1000 : one_in(3) ? 3000 : 2000;
    plan.run.ttl = std::chrono::milliseconds{ttl};
    // Most are short, so that there are many; some outlive a lease that is not renewed.
    const int life = one_in(8) ? between(300, 3000) : between(5, 50);
    const int descendants = one_in(3) ? between(1, 2) : 0;
    const bool outlives = descendants > 0 && one_in(2);
    const bool is_stubborn = one_in(8);
    plan.has_loose_ends = descendants > 0 && !outlives;
    // Less than the grace that holders get from others after a restart: the tree of a keeper that
    // was killed, whose lease nobody sets again, is to be gone by then.
    plan.options = {
        "--log-format",        "json",         "--lease-ttl",        ms(ttl), "--retry-interval",
        ms(between(100, 500)), "--kill-after", ms(between(100, 500))};
    const auto add = [&](std::initializer_list<std::string> words) {
        plan.options.insert(plan.options.end(), words);
    };
    if (one_in(20)) {
        add({"--nonblock"});
        plan.run.may_give_up = true;
    } else if (one_in(10)) {
        add({"--wait", ms(between(200, 4000))});
        plan.run.may_give_up = true;
    }
    if (outlives) add({"--wait-descendants"});
    plan.job = {std::to_string(life), std::to_string(outlives ? between(20, 400) : 0),
                std::to_string(descendants), is_stubborn ? "1" : "0"};
    return plan;
}

/// By waitpid(2) without taking its status away.
bool has_ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
}

std::string name_of_process(pid_t pid) {
    auto name = support::read_file("/proc/" + std::to_string(pid) + "/comm");
    if (name.ends_with('\n')) name.pop_back();
    return name;
}

guard::Descriptor open_process(pid_t pid) {
    return guard::Descriptor{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
}

std::string job_path() {
    const char* path = std::getenv("SANDBOX_LOCK_CHAOS_JOB");
    if (path == nullptr) throw std::runtime_error("SANDBOX_LOCK_CHAOS_JOB is not set");
    return path;
}

/// The child of that name, as a pidfd; empty where there is none.
std::pair<pid_t, guard::Descriptor> child_named(pid_t parent, std::string_view name) {
    for (const pid_t child : support::children_of(parent)) {
        if (name_of_process(child) != name) continue;
        auto process = open_process(child);
        // It is still the one that we saw.
        if (process && std::ranges::count(support::children_of(parent), child) == 1)
            return {child, std::move(process)};
    }
    return {};
}

}  // namespace

Contenders::Contenders(std::size_t count, std::uint64_t seed, const Ground& ground)
    : seed_(seed),
      ground_(ground),
      mark_("CHAOS_OF=" + std::to_string(getpid())),
      job_(job_path()),
      messages_(ground.messages),
      seats_(count),
      pauses_(seed + 1) {}

void Contenders::step() {
    const auto now = BootClock::now();
    for (auto& seat : seats_) {
        if (seat.keeper)
            look(seat);
        else if (starts_ && now >= seat.next)
            start(seat);
    }
}

void Contenders::start(Seat& seat) {
    const int number = static_cast<int>(runs_.size());
    auto plan = make_plan(seed_, number, ground_);
    std::vector<std::string> words{support::program_path()};
    words.insert(words.end(), plan.options.begin(), plan.options.end());
    words.insert(words.end(),
                 {"agent:" + std::to_string(plan.run.slot), "--", job_, ground_.history});
    words.insert(words.end(), plan.job.begin(), plan.job.end());
    if (plan.way == Way::cable) words = ground_.cable->at_far_end(std::move(words));
    const std::array urls{&ground_.direct_url, &ground_.distant_url, &ground_.far_url};
    auto environment = support::clean_environment(*urls[static_cast<std::size_t>(plan.way)]);
    environment.insert(environment.end(), {mark_, "CHAOS_RUN=" + std::to_string(number)});
    plan.run.spawned = BootClock::now();
    seat.keeper.emplace(words, support::Launch{.environment = environment});
    seat.run = number;
    seat.has_loose_ends = plan.has_loose_ends;
    seat.hit = Guardian::none;
    runs_.push_back(plan.run);
}

void Contenders::look(Seat& seat) {
    auto& run = runs_[static_cast<std::size_t>(seat.run)];
    const bool ended = has_ended(seat.keeper->pid());
    if (run.waiting == Time{} && seat.keeper->err().find("\"waiting\"") != std::string::npos)
        run.waiting = BootClock::now();
    if (!ended) return;
    run.status = seat.keeper->wait();
    run.ended = BootClock::now();
    std::istringstream lines{seat.keeper->err()};
    for (std::string line; std::getline(lines, line);)
        messages_ << "run " << seat.run << ": " << line << '\n';
    messages_ << "run " << seat.run << ": status " << run.status << '\n' << std::flush;
    seat.keeper.reset();
    seat.next = run.ended + std::chrono::milliseconds{pauses_() % 200};
}

bool Contenders::all_ended() const {
    return std::ranges::none_of(seats_, [](const Seat& seat) { return seat.keeper.has_value(); });
}

std::optional<Target> Contenders::find(Kind kind, std::uint32_t pick) {
    const Role role = role_of(kind);
    const int signal = signal_of(kind);
    const bool disables = signal == SIGKILL || signal == SIGSTOP;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        auto& seat = seats_[(pick + i) % seats_.size()];
        if (!seat.keeper || has_ended(seat.keeper->pid())) continue;
        auto target = find_at(seat, role, disables);
        if (!target) continue;
        if (disables && role != Role::command)
            seat.hit = role == Role::warden ? Guardian::warden : Guardian::keeper;
        return target;
    }
    return std::nullopt;
}

std::optional<Target> Contenders::find_at(Seat& seat, Role role, bool disables) const {
    const auto other = role == Role::warden ? Guardian::keeper : Guardian::warden;
    if (disables && role != Role::command && seat.hit == other) return std::nullopt;
    if (role == Role::command && seat.has_loose_ends) return std::nullopt;
    const pid_t keeper = seat.keeper->pid();
    auto [warden, warden_process] = child_named(keeper, "sandbox-warden");
    // From the first request on there is a warden; it has a command from the entry on.
    if (!warden_process) return std::nullopt;
    auto [command, command_process] = child_named(warden, "chaos-job");
    if ((role == Role::waiter) == static_cast<bool>(command_process)) return std::nullopt;
    switch (role) {
        case Role::command:
            return Target{seat.run, std::move(command_process)};
        case Role::warden:
            return Target{seat.run, std::move(warden_process)};
        default:
            return Target{seat.run, open_process(keeper)};
    }
}

void Contenders::give(Evidence& evidence) {
    evidence.runs = std::move(runs_);
}

}  // namespace chaos
