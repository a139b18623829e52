#include "cli/waiting.hpp"

#include <fmt/format.h>

#include "cli/duration.hpp"
#include "guard/owner_card.hpp"

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

}  // namespace

WaitingLines::WaitingLines(Messages& messages) noexcept
    : messages_(messages), start_(guard::BootClock::now()), next_(start_) {}

guard::Duration WaitingLines::waited() const noexcept {
    return guard::BootClock::now() - start_;
}

guard::Deadline WaitingLines::stands(const store::Standing& standing) {
    if (guard::BootClock::now() < next_) return next_;
    const auto so_far = waited();
    next_ = start_ + next_after(so_far);
    const std::string who = guard::describe_holder(standing.holder);
    const std::string since = so_far < 1s ? "" : fmt::format(" for {}", duration_text(so_far));
    messages_({guard::Level::notice,
               "waiting",
               fmt::format("waiting{}: held by {}", since, who),
               {{"holder", standing.holder},
                {"waited_seconds", std::chrono::duration<double>(so_far).count()}}});
    return next_;
}

}  // namespace cli
