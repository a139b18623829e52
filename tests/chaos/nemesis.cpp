#include "chaos/nemesis.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace chaos {
namespace {

using namespace std::chrono_literals;

/// How long a target is looked for: for some there is one only now and then.
constexpr Duration longest_search = 1s;
/// Between two faults of the server, so that the second hits what has recovered from the first:
/// more than the grace that holders get after a restart.
constexpr Duration recovery = 1300ms;
/// TCP finds out later that packets arrive again: it waits twice as long after each that is lost.
constexpr Duration found_out = 2500ms;

bool is_of_cable(Kind kind) {
    return kind == Kind::lose_all || kind == Kind::lose_answers;
}

bool send(const guard::Descriptor& process, int signal) {
    return syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

}  // namespace

Nemesis::Nemesis(std::uint64_t seed, Server& server, Wire& wire, Cable* cable,
                 Contenders& contenders)
    : server_(server),
      wire_(wire),
      cable_(cable),
      contenders_(contenders),
      for_processes_(seed, Schedule::of_processes),
      for_server_(seed, Schedule::of_server),
      next_process_(for_processes_.next()),
      next_server_(next_of_server()),
      process_due_(BootClock::now() + next_process_.pause),
      server_due_(BootClock::now() + next_server_.pause) {}

void Nemesis::step() {
    const auto now = BootClock::now();
    let_go_on(now);
    if (now >= process_due_) hit_process(now);
    if (lasting_ && now >= lasting_->until) {
        undo(lasting_->kind);
        done_[lasting_->note].span.to = BootClock::now();
        server_due_ = BootClock::now() + recovery + next_server_.pause +
                      (is_of_cable(lasting_->kind) ? found_out : Duration{});
        lasting_.reset();
    } else if (!lasting_ && now >= server_due_) {
        hit_server(now);
    }
}

void Nemesis::rest() {
    let_go_on(Time::max());
    if (!lasting_) return;
    undo(lasting_->kind);
    done_[lasting_->note].span.to = BootClock::now();
    lasting_.reset();
}

std::size_t Nemesis::note(const Done& done) {
    done_.push_back(done);
    return done_.size() - 1;
}

/// Continues whom it stopped until then.
void Nemesis::let_go_on(Time stopped_until) {
    std::erase_if(stopped_, [&](const Stopped& stopped) {
        if (stopped.until > stopped_until) return false;
        (void)send(stopped.target.process, SIGCONT);
        done_[stopped.note].span.to = BootClock::now();
        return true;
    });
}

void Nemesis::hit_process(Time now) {
    const int signal = signal_of(next_process_.kind);
    const Role role = role_of(next_process_.kind);
    const bool stops_keeper = signal == SIGSTOP && (role == Role::keeper || role == Role::waiter);
    if (stops_keeper && now < holders_come_first_) return;
    const auto before = BootClock::now();
    auto target = contenders_.find(next_process_.kind, next_process_.pick);
    if (!target && now < process_due_ + longest_search) return;
    if (target && send(target->process, signal)) {
        const auto number =
            note({.kind = next_process_.kind, .span = {before, before}, .run = target->run});
        if (signal == SIGSTOP) {
            const Time until = before + next_process_.length;
            done_[number].span.to = until;
            stopped_.push_back({std::move(*target), role, until, number});
        }
    }
    next_process_ = for_processes_.next();
    process_due_ = now + next_process_.pause;
}

Fault Nemesis::next_of_server() {
    auto fault = for_server_.next();
    while (is_of_cable(fault.kind) && cable_ == nullptr) fault = for_server_.next();
    return fault;
}

void Nemesis::hit_server(Time now) {
    const auto fault = std::exchange(next_server_, next_of_server());
    const auto number = note({.kind = fault.kind, .span = {now, now}, .jump = fault.jump});
    inflict(fault);
    done_[number].span.to = BootClock::now();
    const bool lasts = fault.jump == Duration::zero() && fault.kind != Kind::drop_clients;
    if (lasts)
        lasting_ = {fault.kind, BootClock::now() + fault.length, number};
    else
        server_due_ = BootClock::now() + recovery + next_server_.pause;
}

void Nemesis::inflict(const Fault& fault) {
    switch (fault.kind) {
        case Kind::restart_empty:
            // Holders have to set their leases again: see permitted.hpp.
            let_go_on(Time::max());
            holders_come_first_ = Time::max();
            server_.kill();
            break;
        case Kind::restart_persistent:
            server_.kill();
            break;
        case Kind::pause_short:
        case Kind::pause_long:
            server_.node().stop();
            break;
        case Kind::drop_clients:
            for (const char* type : {"normal", "pubsub"})
                (void)server_.node().command({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
            break;
        case Kind::delay:
            wire_.become(Wire::State::slow, fault.length / 10);
            break;
        case Kind::cut:
            wire_.become(Wire::State::cut);
            break;
        case Kind::stall:
            wire_.become(Wire::State::held_up);
            break;
        case Kind::silence:
            wire_.become(Wire::State::swallowing);
            break;
        case Kind::lose_all:
            cable_->become(Cable::Loses::all);
            break;
        case Kind::lose_answers:
            cable_->become(Cable::Loses::answers);
            break;
        default:
            server_.set_clock(fault.jump);
            break;
    }
}

void Nemesis::undo(Kind kind) {
    switch (kind) {
        case Kind::restart_empty:
            server_.start_empty();
            holders_come_first_ = BootClock::now() + recovery;
            break;
        case Kind::restart_persistent:
            server_.start_with_its_data();
            break;
        case Kind::pause_short:
        case Kind::pause_long:
            server_.node().resume();
            break;
        case Kind::lose_all:
        case Kind::lose_answers:
            cable_->become(Cable::Loses::nothing);
            break;
        default:
            wire_.become(Wire::State::open);
            break;
    }
}

}  // namespace chaos
