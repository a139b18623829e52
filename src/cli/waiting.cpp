#include "cli/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "cli/display.hpp"
#include "cli/duration.hpp"
#include "guard/owner_card.hpp"
#include "guard/utc.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;

/// When the line after one at `waited` is due.
guard::Duration next_after(guard::Duration waited) noexcept {
    if (waited < 10s) return 10s;
    if (waited < 30s) return 30s;
    guard::Duration next = 1min;
    while (next <= waited) next *= 2;
    return next;
}

/// In the queue; empty where the store has none.
std::string place_text(const store::Standing& standing) {
    if (!standing.ahead) return "";
    return *standing.ahead == 0 ? "next in line" : fmt::format("{} before you", *standing.ahead);
}

/// Whole seconds, as they are for whoever counts along; nothing of what is shorter, or negative
/// because two clocks disagree.
std::string seconds_text(guard::Duration span) {
    return span < 1s ? "" : duration_text(std::chrono::floor<std::chrono::seconds>(span));
}

constexpr const char* nobody = "nobody at the moment";

void name_holder(const std::string& token, LiveFacts& facts) {
    if (const auto card = guard::read_card(token)) {
        facts.holder = printable(card->label);
        facts.address = printable(card->user + "@" + card->host);
        if (card->pid != 0) facts.pid = std::to_string(card->pid);
        if (const auto held = guard::since(card->since)) facts.held = seconds_text(*held);
        return;
    }
    // `another client (token foreign)`
    const auto text = token.empty() ? nobody : printable(guard::describe_holder(token));
    const auto aside = std::min(text.find(" (token "), text.size());
    facts.holder = text.substr(0, aside);
    if (aside != text.size()) facts.address = text.substr(aside + 2, text.size() - aside - 3);
}

guard::Report waiting(const store::Standing& standing, guard::Duration waited) {
    const auto place = place_text(standing);
    guard::Report report{
        guard::Level::notice,
        "waiting",
        fmt::format("waiting{}: held by {}{}{}", waited < 1s ? "" : " for " + duration_text(waited),
                    standing.holder.empty() ? nobody : guard::describe_holder(standing.holder),
                    place.empty() ? "" : "; ", place),
        {{"holder", standing.holder},
         {"waited_seconds", std::chrono::duration<double>(waited).count()}}};
    if (standing.ahead)
        report.facts.emplace_back("ahead", static_cast<std::int64_t>(*standing.ahead));
    return report;
}

}  // namespace

WaitingLines::WaitingLines(Messages& messages, guard::Deadline until) noexcept
    : messages_(messages), until_(until), start_(guard::BootClock::now()), next_(start_) {}

WaitingLines::~WaitingLines() {
    messages_.hide_live();
}

guard::Duration WaitingLines::waited() const noexcept {
    return guard::BootClock::now() - start_;
}

guard::Deadline WaitingLines::stands(const store::Standing& standing) {
    const auto now = guard::BootClock::now();
    const auto waited = now - start_;
    LiveFacts facts;
    name_holder(standing.holder, facts);
    facts.place = place_text(standing);
    facts.waited = seconds_text(waited);
    if (until_ != guard::never)
        facts.left = seconds_text(std::chrono::ceil<std::chrono::seconds>(until_ - now));
    if (messages_.show_live(std::move(facts)))
        return start_ + std::chrono::floor<std::chrono::seconds>(waited) + 1s;

    if (now < next_) return next_;
    // Not twice in a row where lines take over from the live line.
    next_ = std::max(start_ + next_after(waited), now + 5s);
    messages_(waiting(standing, waited));
    return next_;
}

}  // namespace cli
