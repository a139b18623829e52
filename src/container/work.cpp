#include "container/work.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "container/engine.hpp"
#include "container/processes.hpp"

namespace container {
namespace {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Deadline;
using guard::Duration;

/// Between two looks at work that has been told to end.
constexpr Duration look_interval = 100ms;
/// A start request that was sent before its client died may show its process that much later.
constexpr Duration late_start = 250ms;
/// The same for a container that is only created: making its file system takes time.
constexpr Duration late_creation = 700ms;
/// A client that lived longer has started its work long ago.
constexpr Duration young = 3s;

void pause(Duration span) {
    const timespec time{0, span.count()};
    nanosleep(&time, nullptr);
}

/// By kill(2), where the exec's processes can be seen from here; whether there were any.
bool signal_from_here(const std::string& mark, int signal, bool first_alone = false) {
    auto tree = marked_tree(processes_here(mark));
    if (first_alone && !tree.empty())
        tree = {*std::ranges::min_element(tree, {}, &Process::started)};
    for (const auto& process : tree) kill(process.pid, signal);
    return !tree.empty();
}

std::string reason_of(const Engine& engine) {
    return engine.complaint().empty() ? "" : " (" + engine.complaint() + ")";
}

/// The end of an exec.
class ExecEnd {
public:
    ExecEnd(const Target& target, const std::string& id, const ClientEnd& client, Deadline until)
        : engine_(target, id, until), client_(client), until_(until), forced_(client.forced) {}

    Settlement settle() {
        for (Deadline empty_since = guard::never; BootClock::now() < until_;) {
            const auto left = look();
            const auto now = BootClock::now();
            if (left == 0) {
                empty_since = std::min(empty_since, now);
                const bool may_be_late = forced_ || now - client_.started < young;
                if (is_settled_ || !may_be_late || now - empty_since >= late_start)
                    return {had_work_};
            } else {
                empty_since = guard::never;
            }
            if (left.value_or(0) > 0) end_them(now);
            pause(look_interval);
        }
        return {had_work_, (had_work_ ? "the command's processes in the container cannot be ended"
                                      : "the container cannot be looked into") +
                               reason_of(engine_)};
    }

private:
    /// How many processes have to end yet. Without force that is none once the exec's first process
    /// has ended: what it left in the background is no longer part of the run.
    std::optional<std::size_t> look() {
        const auto state = engine_.state();
        if (!state) return std::nullopt;
        is_settled_ = !state->running || (!forced_ && !state->has_execs);
        if (is_settled_) return 0;
        const auto all = engine_.processes();
        if (!all) return engine_.signal_inside(0);
        const auto tree = marked_tree(*all);
        return forced_ || has_first(tree, *all) ? tree.size() : 0;
    }

    void end_them(Deadline now) {
        had_work_ = true;
        forced_ = true;
        const bool kills = now >= client_.kill_at;
        if (told_ && !kills) return;
        const int signal = kills ? SIGKILL : SIGTERM;
        told_ = signal_from_here(engine_.mark(), signal) || engine_.signal_inside(signal);
    }

    Engine engine_;
    ClientEnd client_;
    Deadline until_;
    bool had_work_ = false;
    bool forced_;              ///< all of the exec's processes have to end
    bool told_ = false;        ///< they have got TERM
    bool is_settled_ = false;  ///< nothing can start any more
};

/// The end of a `docker run`.
class RunEnd {
public:
    RunEnd(const Target& target, const ClientEnd& client, Deadline until)
        : target_(target), engine_(target, target.name, until), client_(client), until_(until) {}

    Settlement settle() {
        bool had_work = false;
        bool knows = false;
        for (auto now = BootClock::now(); now < until_; now = BootClock::now()) {
            const auto left = left_over();
            knows = left.has_value();
            if (left && left->empty()) {
                if (!may_be_late(had_work)) return {had_work};
                // It would never run, but keep its name.
                pause(late_creation);
                looked_late_ = true;
                continue;
            }
            if (left) {
                had_work = had_work || left->front().status.starts_with("Up");
                for (const auto& container : *left) end(container, now);
                continue;
            }
            pause(look_interval);
        }
        return {had_work,
                (knows ? "the container cannot be removed" : "the containers cannot be listed") +
                    reason_of(engine_)};
    }

private:
    /// What is not yet as it should be.
    std::optional<std::vector<Engine::Container>> left_over() const {
        auto found = engine_.marked();
        if (found && !target_.removes)
            std::erase_if(*found, [](const Engine::Container& container) {
                return container.status.starts_with("Exited") ||
                       container.status.starts_with("Dead");
            });
        return found;
    }

    bool may_be_late(bool had_work) const {
        return client_.forced && !had_work && !looked_late_ &&
               BootClock::now() - client_.started < young;
    }

    /// Has the engine end it: `stop`, unlike `kill`, also ends a restart policy, and the engine
    /// keeps the time by itself.
    void end(const Engine::Container& container, Deadline now) {
        const bool is_new = container.status.starts_with("Created");
        const auto grace = std::max<std::chrono::seconds>(
            std::chrono::ceil<std::chrono::seconds>(client_.kill_at - now), 0s);
        const bool in_haste = target_.removes && grace == 0s;
        if (!is_new && !in_haste)
            (void)engine_({"stop", "--time", std::to_string(grace.count()), container.id});
        if (is_new || target_.removes) (void)engine_({"rm", "--force", container.id});
    }

    const Target& target_;
    Engine engine_;
    ClientEnd client_;
    Deadline until_;
    bool looked_late_ = false;
};

}  // namespace

std::vector<std::string> ask_for_id(const Target& target) {
    auto words = target.client;
    words.insert(words.end(), {"inspect", "--format", "{{.Id}}", target.name});
    return words;
}

std::string id_in(const std::string& printed, const Target& target) {
    const auto line = printed.substr(0, printed.find('\n'));
    const bool is_whole = line.size() < printed.size();
    const bool is_hex = line.find_first_not_of("0123456789abcdef") == line.npos;
    return is_whole && is_hex && !line.empty() ? line : target.name;
}

bool deliver(const Target& target, int signal, bool first_alone,
             const std::function<bool()>& client_lives, Deadline until) {
    const Engine engine(target, target.name, until);
    for (bool may_be_starting = true; may_be_starting && BootClock::now() < until;) {
        if (signal_from_here(engine.mark(), signal, first_alone)) return true;
        const auto reached = engine.signal_inside(signal, first_alone);
        if (reached.value_or(0) > 0) return true;
        may_be_starting = client_lives();
        pause(look_interval / 2);
    }
    return false;
}

Settlement settle(const Target& target, const std::string& id, const ClientEnd& client,
                  Deadline until) {
    return target.is_exec ? ExecEnd(target, id, client, until).settle()
                          : RunEnd(target, client, until).settle();
}

}  // namespace container
