#include "inspect.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>

#include "cli/display.hpp"
#include "cli/doctor.hpp"
#include "cli/duration.hpp"
#include "cli/exit_status.hpp"
#include "cli/messages.hpp"
#include "cli/password_file.hpp"
#include "cli/reports.hpp"
#include "cli/status.hpp"
#include "guard/owner_card.hpp"
#include "run/pollers.hpp"
#include "store/examiner.hpp"
#include "store/observer.hpp"

namespace {

using namespace std::chrono_literals;
using guard::BootClock;
using guard::Error;
using guard::Fault;
using guard::Level;
using guard::Result;
using store::SlotState;

constexpr guard::Duration watch_interval = 1s;
/// How long an examination that was interrupted may take to clean up behind itself.
constexpr guard::Duration withdrawal = 500ms;

enum : int { is_free = 0, is_held = 1, declined = 1 };

/// What the commands have in common: settings, messages, the way to the store, and signals that end
/// a wait.
class Inspection {
public:
    Inspection(const cli::Settings& settings, const std::map<std::string_view, std::string>& places,
               const run::OriginalSignals& original)
        : settings_(settings),
          places_(places),
          entering_(original, signals_, nullptr, nullptr),
          messages_(settings.log_format, settings.quiet, settings.verbose) {}

    Result<std::unique_ptr<store::Observer>> observer() {
        auto access = access_by(settings_);
        if (!access) return access.error();
        auto opened =
            store::observe(*access, [this](const guard::Report& report) { messages_(report); });
        if (!opened) return named_by_place(opened.error(), places_);
        return opened;
    }

    Result<std::unique_ptr<store::Examiner>> examiner() {
        auto access = access_by(settings_);
        if (!access) return access.error();
        auto opened = store::examine(*access);
        if (!opened) return named_by_place(opened.error(), places_);
        return opened;
    }

    /// The exit status if a signal has come.
    std::optional<int> ended_by_signal() {
        const auto signal = entering_.interruption();
        return signal ? std::optional(cli::by_signal + *signal) : std::nullopt;
    }

    int fail(const Error& error) {
        if (const auto status = ended_by_signal()) return *status;
        messages_.fatal(misses_default(error) ? cli::no_default_store(error) : error);
        return cli::status_of(error.fault, cli::not_acquired);
    }

    /// Whether the store is not there, and nobody has named it.
    [[nodiscard]] bool misses_default(const Error& error) const {
        return error.fault == Fault::unreachable && !places_.contains("store");
    }

    run::Entering& poller() noexcept { return entering_; }
    cli::Messages& messages() noexcept { return messages_; }

private:
    const cli::Settings& settings_;
    const std::map<std::string_view, std::string>& places_;
    run::SignalReader signals_ = run::SignalReader::for_keeper();
    run::Entering entering_;
    cli::Messages messages_;
};

/// 0 where standard output is no terminal.
std::size_t columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Result<std::vector<SlotState>> look_at(const cli::StatusRequest& request, store::Observer& observer,
                                       guard::Poller& poller) {
    const auto& prefix = request.settings.key_prefix;
    if (request.keys.empty()) return observer.held(prefix, poller);
    std::vector<SlotState> slots;
    for (const auto& key : request.keys) {
        auto slot = observer.look(guard::store_key(prefix, key), poller);
        if (!slot) return slot.error();
        slots.push_back(std::move(*slot));
    }
    return slots;
}

bool print(const std::string& text) {
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

/// One look, printed. On a terminal each look of --watch takes the place of the last one.
bool show(const std::vector<SlotState>& slots, const cli::StatusRequest& request) {
    const auto& prefix = request.settings.key_prefix;
    if (request.json) return print(cli::status_json(slots, prefix));
    const std::size_t width = columns();
    std::string text = request.watch && width > 0 ? "\x1b[H\x1b[2J" : "";
    if (slots.empty())
        text += fmt::format("no slot under '{}' is held\n", cli::printable(prefix));
    else
        text += cli::status_table(slots, prefix, width);
    return print(text);
}

/// Whether the person at the terminal says yes.
bool confirmed(const std::string& question, guard::Poller& poller) {
    fmt::print(stderr, "{} [y/N] ", question);
    if (poller.wait(STDIN_FILENO, POLLIN, guard::never) != guard::Wake::ready) return false;
    std::string answer;
    return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

/// Whether `given` means the holder with `token`: by the token itself or by its id.
bool means(const std::string& given, const std::string& token) {
    return given == token || (!given.empty() && token.starts_with("{\"id\":\"" + given + "\""));
}

/// One break, from the first look on.
class Break {
public:
    Break(const cli::BreakRequest& request, Inspection& inspection, store::Observer& observer)
        : request_(request),
          inspection_(inspection),
          observer_(observer),
          key_(guard::store_key(request.settings.key_prefix, request.key)) {
        inspection.messages().about(request.key.text(), key_);
    }

    int operator()() {
        const auto slot = observer_.look(key_, inspection_.poller());
        if (!slot) return inspection_.fail(slot.error());
        if (slot->holder.empty()) {
            tell(Level::notice, "free", "the slot is free: there is nothing to break");
            return EXIT_SUCCESS;
        }
        if (!request_.token.empty() && !means(request_.token, slot->holder))
            return holder_changed(*slot);
        if (request_.token.empty()) {
            if (isatty(STDIN_FILENO) == 0)
                return inspection_.fail(
                    {Fault::usage, "break: without a terminal to ask at, it takes --token: " +
                                       cli::standing_text(*slot)});
            if (!confirmed(question(*slot), inspection_.poller()))
                return inspection_.ended_by_signal().value_or(declined);
        }
        return take_away(*slot);
    }

private:
    void tell(Level level, std::string_view event, std::string text) {
        inspection_.messages()({level, event, std::move(text)});
    }

    std::string question(const SlotState& slot) const {
        return cli::printable(
            fmt::format("{} is {}.{} Break it?", request_.key.text(), cli::standing_text(slot),
                        request_.force ? " It is freed at once, and two may overlap." : ""));
    }

    int holder_changed(const SlotState& slot) {
        return inspection_.fail(
            {Fault::taken,
             "nothing was done, since the holder is another one: " + cli::standing_text(slot)});
    }

    int take_away(const SlotState& slot) {
        const auto in_its_place =
            request_.force ? std::string{}
                           : guard::make_token(guard::OwnerCard::of_this_process("a broken lease"));
        const auto done =
            observer_.take_away(key_, slot.holder, in_its_place, inspection_.poller());
        if (!done) return inspection_.fail(done.error());
        if (*done == store::Broken::other) {
            const auto now = observer_.look(key_, inspection_.poller());
            return holder_changed(now ? *now : SlotState{key_, ""});
        }
        if (request_.force)
            tell(Level::warning, "freed",
                 "the slot is free; until the old holder notices, at its next renewal, two may "
                 "overlap");
        else
            tell(Level::notice, "broken",
                 "the holder learns of it at its next renewal and ends its command; the slot stays "
                 "closed until the lease would have ended" +
                     (slot.left ? ", at most " + cli::duration_text(*slot.left) : ""));
        return EXIT_SUCCESS;
    }

    const cli::BreakRequest& request_;
    Inspection& inspection_;
    store::Observer& observer_;
    std::string key_;
};

int show_needed_rights(const cli::DoctorRequest& request, Inspection& inspection) {
    const auto access = access_by(request.settings);
    if (!access) return inspection.fail(access.error());
    const auto rights = store::needed_rights(*access, request.settings.key_prefix);
    if (!rights) return inspection.fail(named_by_place(rights.error(), request.places));
    return print(*rights) ? EXIT_SUCCESS : cli::system_error;
}

/// One examination. Each finding is printed as it comes; as JSON, all at the end.
class Examination {
public:
    Examination(const cli::DoctorRequest& request, Inspection& inspection)
        : request_(request), inspection_(inspection) {}

    int operator()(store::Examiner& examiner) {
        const auto& settings = request_.settings;
        const store::Practice practice{settings.key_prefix, settings.lease_ttl, settings.renew,
                                       settings.kill_after};
        const auto done = examiner.examine(practice, inspection_.poller(),
                                           [this](const store::Finding& found) { tell(found); });
        run::Undisturbed undisturbed;
        examiner.tidy(guard::after(BootClock::now(), withdrawal), undisturbed);
        if (const auto status = inspection_.ended_by_signal()) return *status;
        if (!done) {
            const Fault fault = done.error().fault;
            if (fault != Fault::unreachable && fault != Fault::denied)
                return inspection_.fail(done.error());
            tell({"reach", store::Verdict::fail, done.error().text, remedy(done.error())});
        }
        if (request_.json) printed_ = print(cli::findings_json(findings_)) && printed_;
        return printed_ ? cli::status_of(findings_) : cli::system_error;
    }

private:
    void tell(const store::Finding& finding) {
        findings_.push_back(finding);
        if (request_.json) return;
        if (request_.settings.quiet && finding.verdict == store::Verdict::ok) return;
        printed_ = print(cli::finding_text(finding, columns())) && printed_;
    }

    [[nodiscard]] std::string remedy(const Error& error) const {
        if (inspection_.misses_default(error)) return std::string(cli::ways_without_default);
        if (error.fault == Fault::denied)
            return "check the login, and the certificates if it has any";
        const auto place = request_.places.find("store");
        return fmt::format("check that it runs, and the URL of {}",
                           place == request_.places.end() ? "--store" : place->second);
    }

    const cli::DoctorRequest& request_;
    Inspection& inspection_;
    std::vector<store::Finding> findings_;
    bool printed_ = true;
};

}  // namespace

Result<store::Access> access_by(const cli::Settings& settings) {
    // As redis-cli(1) has it.
    auto password = cli::find_password("--password-file", settings.password_file, "REDISCLI_AUTH");
    if (!password) return password.error();
    auto sentinel_password = cli::find_password(
        "--sentinel-password-file", settings.sentinel_password_file, "SANDBOX_LOCK_SENTINEL_AUTH");
    if (!sentinel_password) return sentinel_password.error();
    return store::Access{settings.store,
                         std::move(*password),
                         settings.connect_timeout,
                         settings.response_timeout,
                         settings.retry_interval,
                         {settings.tls_cacert, settings.tls_cert, settings.tls_key,
                          settings.tls_server_name, settings.tls_insecure},
                         settings.sentinel_user,
                         std::move(*sentinel_password),
                         settings.min_replicas};
}

Error named_by_place(const Error& error, const std::map<std::string_view, std::string>& places) {
    const auto place = places.find("store");
    return {error.fault, (place == places.end() ? "--store" : place->second) + ": " + error.text};
}

int show_status(const cli::StatusRequest& request, const run::OriginalSignals& original) {
    Inspection inspection{request.settings, request.places, original};
    const auto observer = inspection.observer();
    if (!observer) return inspection.fail(observer.error());
    for (;;) {
        const auto slots = look_at(request, **observer, inspection.poller());
        if (!slots) return inspection.fail(slots.error());
        if (request.settings.quiet && request.keys.size() == 1)
            return slots->front().holder.empty() ? is_free : is_held;
        if (!show(*slots, request)) return cli::system_error;
        if (!request.watch) return EXIT_SUCCESS;
        const auto next = guard::after(BootClock::now(), watch_interval);
        if (inspection.poller().wait(-1, 0, next) == guard::Wake::interrupted)
            return inspection.ended_by_signal().value_or(cli::internal_error);
    }
}

int break_lease(const cli::BreakRequest& request, const run::OriginalSignals& original) {
    Inspection inspection{request.settings, request.places, original};
    const auto observer = inspection.observer();
    if (!observer) return inspection.fail(observer.error());
    return Break{request, inspection, **observer}();
}

int examine_store(const cli::DoctorRequest& request, const run::OriginalSignals& original) {
    Inspection inspection{request.settings, request.places, original};
    if (request.acl) return show_needed_rights(request, inspection);
    const auto examiner = inspection.examiner();
    if (!examiner) return inspection.fail(examiner.error());
    return Examination{request, inspection}(**examiner);
}
