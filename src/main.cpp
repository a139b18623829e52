// The whole story on one page: parse, wire, enter, run, release, exit status.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "cli/duration.hpp"
#include "cli/exit_status.hpp"
#include "cli/messages.hpp"
#include "cli/parse.hpp"
#include "cli/password_file.hpp"
#include "cli/waiting.hpp"
#include "guard/owner_card.hpp"
#include "run/command.hpp"
#include "run/keeper.hpp"
#include "run/pollers.hpp"
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

/// When KILL comes before the lease's end, so that the tree is gone by then.
Duration kill_margin(Duration ttl) {
    return std::clamp<Duration>(ttl / 10, 100ms, 1s);
}

/// The command's time between TERM and KILL; a short lease must leave time to renew before it.
Duration grace(const cli::Settings& settings) {
    return std::min(settings.kill_after, settings.lease_ttl / 3);
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
    const auto& settings = invocation.settings;
    auto password = cli::find_password(settings.password_file);
    if (!password) return password.error();
    auto opened = store::open({settings.store, std::move(*password), settings.connect_timeout,
                               settings.response_timeout, settings.retry_interval},
                              claim, [&](const guard::Report& report) { messages(report); });
    if (!opened)
        return guard::Error{opened.error().fault,
                            invocation.store_origin + ": " + opened.error().text};
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
        if (invocation_.password_was_in_argv)
            messages_({Level::warning, "password-in-argv",
                       "a password in --store is seen by everybody who calls ps: use "
                       "SANDBOX_LOCK_STORE, a configuration file or --password-file"});
        auto opened = open_store(invocation_, claim_, messages_);
        if (!opened) return fail(opened.error());
        store_ = std::move(*opened);
        if (nested()) return pass_through();

        const auto lease = enter();
        if (!lease) return give_up(lease.error());
        // A signal that came meanwhile must not find a command started after it.
        if (entering_.interruption()) return give_up({guard::Fault::interrupted, ""});
        if (!warden_) return give_up({guard::Fault::system, "there is no warden process"});
        return hold(*lease);
    }

private:
    /// Forks the warden; done while the store works on our first request.
    void fork_warden() {
        auto warden = run::Warden::fork(original_);
        if (warden)
            warden_.emplace(std::move(*warden));
        else
            messages_.fatal(warden.error());
    }

    void dismiss_warden() {
        if (warden_) warden_->dismiss();
    }

    int fail(const guard::Error& error) {
        // With -E 0 a slot that is taken is no failure, so there is nothing to tell, as with flock(1).
        const bool expected = error.fault == guard::Fault::taken && settings_.conflict_exit_code == 0;
        if (expected)
            messages_({Level::detail, "not-acquired", error.text});
        else
            messages_.fatal(error);
        dismiss_warden();
        return cli::status_of(error.fault, settings_.conflict_exit_code);
    }

    /// Whether an ancestor of ours holds this very slot: waiting for it would never end.
    bool nested() {
        const char* key = std::getenv("SANDBOX_LOCK_KEY");
        const char* token = std::getenv("SANDBOX_LOCK_TOKEN");
        if (key == nullptr || token == nullptr || claim_.key != key) return false;
        const auto held = store_->held_by(
            token, guard::after(BootClock::now(), settings_.connect_timeout), entering_);
        return held && *held;
    }

    int pass_through() {
        messages_({Level::detail, "nested", "an outer call holds the slot: passing straight through"});
        dismiss_warden();
        return cannot_run(run::exec(invocation_.command, {}, original_));
    }

    int cannot_run(int error) {
        messages_({Level::error, "no-exec",
                   fmt::format("cannot run '{}': {}", invocation_.command.front(), std::strerror(error))});
        return cli::status_of_exec(error);
    }

    guard::Result<guard::Lease> enter() {
        guard::Patience patience;
        patience.once = settings_.nonblock || settings_.wait == Duration::zero();
        if (settings_.wait && !patience.once)
            patience.until = guard::after(BootClock::now(), *settings_.wait);
        cli::WaitingLines lines{messages_};
        auto lease = store_->enter(patience, entering_, [&](const std::string& holder) {
            lines.taken(holder);
        });
        const Duration waited = lines.waited();
        if (lease)
            messages_({Level::detail,
                       "entered",
                       fmt::format("entered after {}", cli::duration_text(waited)),
                       {{"waited_seconds", std::chrono::duration<double>(waited).count()},
                        {"fence", static_cast<std::int64_t>(lease->fence)}}});
        else if (lease.error().fault == guard::Fault::taken)
            return guard::Error{guard::Fault::taken,
                                fmt::format("not acquired{}: held by {}",
                                            patience.once ? "" : " within " + cli::duration_text(waited),
                                            guard::describe_holder(lease.error().text))};
        return lease;
    }

    /// After a failed entry: an answer that was lost may have been a yes, so the slot is given back.
    int give_up(const guard::Error& error) {
        run::Undisturbed undisturbed;
        (void)store_->release(guard::after(BootClock::now(), withdrawal), undisturbed);
        const auto signal = entering_.interruption();
        if (error.fault != guard::Fault::interrupted || !signal) return fail(error);
        messages_({Level::notice, "interrupted",
                   fmt::format("interrupted by SIG{}, nothing was run", sigabbrev_np(*signal)),
                   {{"signal", std::int64_t{*signal}}}});
        dismiss_warden();
        return cli::by_signal + *signal;
    }

    run::Order make_order(const guard::Lease& lease, bool has_terminal) const {
        const bool ends_when_lost = settings_.on_lost == cli::OnLost::term;
        return {invocation_.command,
                {"SANDBOX_LOCK_KEY=" + claim_.key,
                 fmt::format("SANDBOX_LOCK_SCOPE={}", guard::name_of(invocation_.key.scope)),
                 "SANDBOX_LOCK_VALUE=" + invocation_.key.value,
                 "SANDBOX_LOCK_TOKEN=" + claim_.token,
                 fmt::format("SANDBOX_LOCK_FENCE={}", lease.fence)},
                messages_.line({Level::error, "keeper-killed",
                                fmt::format("the keeper (pid {}) was killed: ending the command",
                                            getpid())}) + "\n",
                ends_when_lost ? lease.deadline : guard::never,
                kill_margin(settings_.lease_ttl),
                grace(settings_),
                !has_terminal,
                settings_.wait_descendants};
    }

    int hold(const guard::Lease& lease) {
        const auto terminal = run::Terminal::controlling();
        run::Keeper keeper{std::move(*warden_), signals_,
                           [this](const guard::Report& report) { messages_(report); }};
        messages_.may_wait(false);
        const auto started = BootClock::now();
        keeper.start(make_order(lease, terminal.has_value()));

        const auto holding = store_->hold(lease, keeper);
        const bool end_it = holding.lost && settings_.on_lost == cli::OnLost::term;
        if (end_it) keeper.stop();
        if (holding.lost && !keeper.ran_out())
            messages_({Level::error, "lease-lost",
                       fmt::format("the lease is lost: {}; {}", holding.why,
                                   end_it ? "ending the command" : "the command runs on")});
        const auto end = keeper.finish();
        const bool lost = end_it || keeper.ran_out();
        if (terminal && (lost || keeper.killed())) terminal->restore();

        const Duration held = BootClock::now() - started;
        give_back(holding.lost, keeper, held);
        messages_.may_wait(true);
        return status_of(end, lost);
    }

    void give_back(bool lost, const run::Keeper& keeper, Duration held) {
        if (!settings_.renew && (keeper.ran_out() || held > settings_.lease_ttl * 8 / 10))
            messages_({Level::warning, "ttl-too-short",
                       fmt::format("held for {} of {}, and the lease is not renewed: raise --lease-ttl "
                                   "to {}",
                                   cli::duration_text(held), cli::duration_text(settings_.lease_ttl),
                                   cli::duration_text(std::chrono::ceil<std::chrono::seconds>(held * 2)))});
        if (lost) return;
        if (keeper.killed()) {
            messages_({Level::warning, "left-to-lapse",
                       fmt::format("the command had to be killed: the slot stays closed until the lease "
                                   "ends, at most {}",
                                   cli::duration_text(settings_.lease_ttl))});
            return;
        }
        run::Undisturbed undisturbed;
        const Duration patience = keeper.ran_out() ? withdrawal : settings_.response_timeout;
        const auto released = store_->release(guard::after(BootClock::now(), patience), undisturbed);
        if (released)
            messages_({Level::detail,
                       "released",
                       fmt::format("released after {}", cli::duration_text(held)),
                       {{"held_seconds", std::chrono::duration<double>(held).count()}}});
        else
            messages_({Level::warning, "release-failed",
                       fmt::format("cannot release the slot ({}): it frees itself within {}",
                                   released.error().text, cli::duration_text(settings_.lease_ttl))});
    }

    int status_of(const run::RunEnd& end, bool lost) {
        using run::RunEnd;
        switch (end.how) {
            case RunEnd::no_exec:
                return cannot_run(end.number);
            case RunEnd::no_start:
                messages_({Level::error, "no-start", "cannot start the command: " + end.text});
                return cli::system_error;
            case RunEnd::late:
                messages_({Level::error, "lease-lost",
                           "the lease was over before the command could start, nothing was run"});
                return cli::lease_lost;
            case RunEnd::warden_killed:
                return lost ? cli::lease_lost : cli::internal_error;
            case RunEnd::ended:
                break;
        }
        return lost ? cli::lease_lost : cli::status_of_wait(end.number);
    }

    const cli::Invocation& invocation_;
    const cli::Settings& settings_;
    const run::OriginalSignals& original_;
    run::SignalReader signals_ = run::SignalReader::for_keeper();
    run::Entering entering_{original_, signals_, [this] { fork_warden(); }};
    std::optional<run::Warden> warden_;
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
    Run run{std::get<cli::Invocation>(*parsed), original};
    // Not by exit(3): taking everything apart first would only cost time.
    _exit(run());
}
