// The whole story on one page: parse, wire, enter, run, release, exit status.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "cli/exit_status.hpp"
#include "cli/messages.hpp"
#include "cli/parse.hpp"
#include "cli/reports.hpp"
#include "cli/waiting.hpp"
#include "guard/owner_card.hpp"
#include "inspect.hpp"
#include "run/command.hpp"
#include "run/keeper.hpp"
#include "run/pollers.hpp"
#include "run/status.hpp"
#include "run/terminal.hpp"
#include "run/warden.hpp"
#include "store/store.hpp"

namespace {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Duration;
using guard::Level;

/// How long a failed or interrupted entry may take to clean up behind itself.
constexpr Duration withdrawal = 500ms;

/// When KILL comes before the lease's end, so that the tree is gone by then; and what it left
/// elsewhere, where that has to be cleaned up.
Duration kill_margin(Duration ttl, bool cleans_up) {
    return cleans_up ? std::clamp<Duration>(ttl / 4, 100ms, 3s)
                     : std::clamp<Duration>(ttl / 10, 100ms, 1s);
}

guard::Claim make_claim(const cli::Invocation& invocation) {
    const auto& settings = invocation.settings;
    const std::string& program = invocation.command.front();
    const auto card = guard::OwnerCard::of_this_process(
        settings.label.value_or(program.substr(program.rfind('/') + 1)));
    return {guard::store_key(settings.key_prefix, invocation.key), guard::make_token(card),
            settings.lease_ttl, settings.renew};
}

guard::Result<std::unique_ptr<store::Store>> open_store(const cli::Invocation& invocation,
                                                        const guard::Claim& claim,
                                                        cli::Messages& messages) {
    const auto access = access_by(invocation.settings);
    if (!access) return access.error();
    auto opened =
        store::open(*access, claim, [&](const guard::Report& report) { messages(report); });
    if (!opened) return named_by_place(opened.error(), invocation.places);
    return opened;
}

/// One run, from a parsed command line to the exit status.
class Run {
public:
    Run(const cli::Invocation& invocation, const run::OriginalSignals& original)
        : invocation_(invocation),
          settings_(invocation.settings),
          original_(original),
          messages_(settings_.log_format, settings_.quiet, settings_.verbose),
          claim_(make_claim(invocation)) {
        messages_.about(invocation.key.text(), claim_.key);
    }

    int operator()() {
        if (invocation_.password_was_in_argv) messages_(cli::password_in_argv());
        auto opened = open_store(invocation_, claim_, messages_);
        if (!opened) return fail(opened.error());
        store_ = std::move(*opened);
        if (!store_->leases_lapse()) tell_without_effect();
        const auto inside = nested();
        // To wait would be to wait for an ancestor, perhaps.
        if (!inside) return go_without(inside.error());
        if (*inside) return pass_through();

        const auto lease = enter();
        if (!lease) return go_without(lease.error());
        // A signal that came meanwhile must not find a command started after it.
        if (entering_.interruption()) return give_up({guard::Fault::interrupted, ""});
        if (!warden_) fork_warden();
        if (!*warden_) return give_up(warden_->error());
        return hold(*lease);
    }

private:
    /// Done while the store works on our first request: there it costs no time.
    void fork_warden() { warden_ = run::Warden::fork(original_); }

    void dismiss_warden() {
        if (warden_ && *warden_) (*warden_)->dismiss();
    }

    void tell_without_effect() {
        for (const char* name : {"lease-ttl", "no-renew"})
            if (const auto place = invocation_.places.find(name); place != invocation_.places.end())
                messages_(cli::without_effect(place->second));
    }

    int fail(const guard::Error& error) {
        // With -E 0 a slot that is taken is no failure, so there is nothing to tell, as with
        // flock(1).
        const bool expected =
            error.fault == guard::Fault::taken && settings_.conflict_exit_code == 0;
        if (expected)
            messages_({Level::detail, "not-acquired", error.text});
        else
            messages_.fatal(error);
        dismiss_warden();
        return cli::status_of(error.fault, settings_.conflict_exit_code);
    }

    /// Whether an ancestor of ours holds this very slot: waiting for it would never end.
    guard::Result<bool> nested() {
        const char* key = std::getenv("SANDBOX_LOCK_KEY");
        const char* token = std::getenv("SANDBOX_LOCK_TOKEN");
        if (key == nullptr || token == nullptr || claim_.key != key) return false;
        const auto patience = make_patience();
        const auto until = patience.outlasts
                               ? patience.until
                               : guard::after(BootClock::now(), settings_.connect_timeout);
        return store_->held_by(token, until, entering_);
    }

    int pass_through() {
        messages_(cli::passing_through());
        is_nested_ = true;
        return run_without_lease();
    }

    /// Without a lease the command runs only if the store is down and the user wants that. A store
    /// that is there and refuses is a fault to mend.
    int go_without(const guard::Error& error) {
        if (error.fault != guard::Fault::unreachable || settings_.if_down != cli::IfDown::run)
            return give_up(error);
        withdraw();
        messages_(cli::running_without(error));
        return run_without_lease();
    }

    /// This process becomes the command, unless something is left to do behind it.
    int run_without_lease() {
        if (!cleans_up()) {
            dismiss_warden();
            return cannot_run(run::exec(invocation_.command, {}, original_));
        }
        if (!warden_) fork_warden();
        if (!*warden_) return fail(warden_->error());
        const auto terminal = run::Terminal::controlling();
        auto keeper = make_keeper();
        auto order = make_order({guard::never, 0}, terminal.has_value());
        order.environment.clear();
        keeper.start(order, {});
        const auto end = keeper.finish();
        if (terminal && keeper.killed()) terminal->restore();
        return status_of(end, false);
    }

    bool cleans_up() const { return invocation_.container || !cleanups().empty(); }

    /// A nested call has those of its own command line only: what stands in the environment or a
    /// file is for the outer call, whose work goes on.
    std::vector<std::string> cleanups() const {
        const auto place = invocation_.places.find("cleanup");
        const bool is_own = place != invocation_.places.end() && place->second == "--cleanup";
        return is_own || !is_nested_ ? settings_.cleanups : std::vector<std::string>{};
    }

    int cannot_run(int error) {
        messages_(cli::cannot_run(invocation_.command.front(), error));
        return run::status_of_exec(error);
    }

    guard::Patience make_patience() const {
        guard::Patience patience;
        patience.outlasts = settings_.if_down == cli::IfDown::wait;
        patience.once = settings_.nonblock || settings_.wait == Duration::zero();
        if (settings_.wait && !patience.once)
            patience.until = guard::after(BootClock::now(), *settings_.wait);
        return patience;
    }

    guard::Result<guard::Lease> enter() {
        const auto patience = make_patience();
        cli::WaitingLines lines{messages_, patience.until};
        auto lease = store_->enter(patience, entering_, [&](const store::Standing& standing) {
            return lines.stands(standing);
        });
        if (lease)
            messages_(cli::entered(*lease, lines.waited()));
        else if (lease.error().fault == guard::Fault::taken)
            return cli::slot_taken(lease.error().text,
                                   patience.once ? Duration::zero() : lines.waited());
        else if (lease.error().fault == guard::Fault::unreachable &&
                 !invocation_.places.contains("store"))
            return cli::no_default_store(lease.error());
        return lease;
    }

    /// After a failed entry: an answer that was lost may have been a yes, so the slot is given
    /// back.
    void withdraw() {
        run::Undisturbed undisturbed;
        (void)store_->release(guard::after(BootClock::now(), withdrawal), undisturbed);
    }

    int give_up(const guard::Error& error) {
        withdraw();
        const auto signal = entering_.interruption();
        if (error.fault != guard::Fault::interrupted || !signal) return fail(error);
        messages_(cli::interrupted_by(*signal));
        dismiss_warden();
        return cli::by_signal + *signal;
    }

    /// The command's time between TERM and KILL; a short lease must leave time to renew before it.
    Duration grace() const {
        return store_->leases_lapse() ? std::min(settings_.kill_after, settings_.lease_ttl / 3)
                                      : settings_.kill_after;
    }

    run::Order make_order(const guard::Lease& lease, bool has_terminal) const {
        const bool ends_when_lost = settings_.on_lost == cli::OnLost::term;
        return {
            invocation_.command,
            {"SANDBOX_LOCK_KEY=" + claim_.key,
             fmt::format("SANDBOX_LOCK_SCOPE={}", guard::name_of(invocation_.key.scope)),
             "SANDBOX_LOCK_VALUE=" + invocation_.key.value, "SANDBOX_LOCK_TOKEN=" + claim_.token,
             fmt::format("SANDBOX_LOCK_FENCE={}", lease.fence)},
            messages_.line(cli::keeper_killed()) + "\n",
            ends_when_lost ? lease.deadline : guard::never,
            kill_margin(settings_.lease_ttl, cleans_up()),
            grace(),
            !has_terminal,
            settings_.wait_descendants,
            invocation_.container,
            cleanups(),
            settings_.cleanup_timeout,
            cli::lease_lost};
    }

    run::Keeper make_keeper() {
        return {std::move(**warden_), signals_, original_,
                [this](const guard::Report& report) { messages_(report); }};
    }

    int hold(const guard::Lease& lease) {
        const auto terminal = run::Terminal::controlling();
        auto keeper = make_keeper();
        messages_.may_wait(false);
        const auto started = BootClock::now();
        keeper.start(make_order(lease, terminal.has_value()), store_->anchor());

        const auto holding = store_->hold(lease, keeper);
        const bool end_it = holding.lost && settings_.on_lost == cli::OnLost::term;
        if (end_it) keeper.stop();
        if (holding.lost && !keeper.ran_out()) messages_(cli::lost(holding, end_it));
        const auto end = keeper.finish();
        const bool lost = end_it || keeper.ran_out();
        if (terminal && (lost || keeper.killed())) terminal->restore();

        const Duration held = BootClock::now() - started;
        give_back(holding.lost, keeper, held);
        messages_.may_wait(true);
        return status_of(end, lost);
    }

    void give_back(bool lost, const run::Keeper& keeper, Duration held) {
        const bool lapses = store_->leases_lapse();
        const bool too_short = keeper.ran_out() || held > settings_.lease_ttl * 8 / 10;
        if (lapses && !settings_.renew && too_short)
            messages_(cli::ttl_too_short(held, settings_.lease_ttl));
        if (lost) return;
        const auto closed_for = linger_after(keeper);
        if (!closed_for) return;
        run::Undisturbed undisturbed;
        const Duration patience = keeper.ran_out() ? withdrawal : settings_.connect_timeout;
        const auto until = guard::after(BootClock::now(), patience);
        const auto done = *closed_for > Duration::zero()
                              ? store_->release_after(*closed_for, until, undisturbed)
                              : store_->release(until, undisturbed);
        messages_(done ? cli::released(held)
                       : cli::release_failed(done.error(), settings_.lease_ttl));
    }

    /// How long the slot stays closed; none: until the lease ends. After a KILL nobody knows what
    /// goes on elsewhere, say in a container, unless a cleanup has ended it.
    std::optional<Duration> linger_after(const run::Keeper& keeper) {
        using Cleanup = run::Keeper::Cleanup;
        const bool lapses = store_->leases_lapse();
        const bool by_us = keeper.killed() || keeper.ended_as_asked() || keeper.ran_out();
        const bool lingers = settings_.linger && by_us;
        if (keeper.cleanup() == Cleanup::failed && lapses) {
            messages_(cli::closed_after_cleanup(settings_.lease_ttl));
            return std::nullopt;
        }
        if (lingers) {
            if (*settings_.linger > Duration::zero()) messages_(cli::lingers(*settings_.linger));
            return settings_.linger;
        }
        if (keeper.cleanup() == Cleanup::failed) messages_(cli::freed_after_cleanup());
        if (!keeper.killed() || keeper.cleanup() != Cleanup::none) return Duration::zero();
        messages_(lapses ? cli::left_to_lapse(settings_.lease_ttl) : cli::freed_after_kill());
        return lapses ? std::nullopt : std::optional(Duration::zero());
    }

    int status_of(const run::RunEnd& end, bool lost) {
        using run::RunEnd;
        switch (end.how) {
            case RunEnd::no_exec:
                return cannot_run(end.number);
            case RunEnd::no_start:
                messages_(cli::cannot_start(end.text));
                return cli::system_error;
            case RunEnd::late:
                messages_(cli::over_before_start());
                return cli::lease_lost;
            case RunEnd::warden_killed:
                return lost ? cli::lease_lost : cli::internal_error;
            case RunEnd::ended:
                break;
        }
        return lost ? cli::lease_lost : run::status_of_wait(end.number);
    }

    const cli::Invocation& invocation_;
    const cli::Settings& settings_;
    const run::OriginalSignals& original_;
    run::SignalReader signals_ = run::SignalReader::for_keeper();
    run::Entering entering_{original_, signals_, [this] { fork_warden(); },
                            [this] { messages_.hide_live(); }};
    std::optional<guard::Result<run::Warden>> warden_;
    bool is_nested_ = false;
    cli::Messages messages_;
    guard::Claim claim_;
    std::unique_ptr<store::Store> store_;
};

int quit(const guard::Error& error) {
    cli::Messages(cli::LogFormat::text, false, false).fatal(error);
    return cli::status_of(error.fault, cli::not_acquired);
}

}  // namespace

int main(int argc, char** argv) {
    const auto original = run::OriginalSignals::take();
    const auto parsed = cli::parse(argc, argv);
    if (!parsed) return quit(parsed.error());
    if (const auto* answer = std::get_if<cli::Answer>(&*parsed))
        return std::fputs(answer->text.c_str(), stdout) < 0 || std::fflush(stdout) != 0
                   ? cli::system_error
                   : EXIT_SUCCESS;
    if (const auto* request = std::get_if<cli::StatusRequest>(&*parsed))
        return show_status(*request, original);
    if (const auto* request = std::get_if<cli::BreakRequest>(&*parsed))
        return break_lease(*request, original);
    if (const auto* request = std::get_if<cli::DoctorRequest>(&*parsed))
        return examine_store(*request, original);
    Run run{std::get<cli::Invocation>(*parsed), original};
    // Not by exit(3): taking everything apart first would only cost time.
    _exit(run());
}
