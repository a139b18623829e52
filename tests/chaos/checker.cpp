#include "chaos/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace chaos {
namespace {

using namespace std::chrono_literals;

/// For how long a fault of the server is felt: leases lapse, others hold back, all connect anew,
/// and whoever was taken for gone comes back with its next beat.
constexpr Duration aftermath = 6s;
/// The same for the order of those who wait: until all of them are back in their places.
constexpr Duration disorder = 2500ms;
/// A hand-over without any fault takes milliseconds; this is for a busy machine, and for a waiter
/// that is woken and does not come.
constexpr Duration slack = 3s;
/// How long a machine that is busy may let a process wait before that counts as a fault.
constexpr Duration long_stall = 300ms;
/// A waiter that does not come is passed over after a second.
constexpr Duration standby = 1200ms;

std::string seconds(Duration span) {
    return fmt::format("{:.3f} s", std::chrono::duration<double>(span).count());
}

class Judge {
public:
    explicit Judge(const Evidence& evidence) : evidence_(evidence) { gather(); }

    Verdict operator()() {
        for (auto& [slot, entries] : slots_) {
            check_overlaps(slot, entries);
            check_fences(slot, entries);
            check_handovers(slot, entries);
            check_order(slot);
        }
        for (std::size_t i = 0; i < evidence_.runs.size(); ++i) check_status(i);
        for (const auto& process : evidence_.left_running) complain("left running: " + process);
        for (const auto& key : evidence_.left_in_store) complain("left in the store: " + key);
        return std::move(verdict_);
    }

private:
    void complain(std::string text) { verdict_.violations.push_back(std::move(text)); }
    [[nodiscard]] std::string at(Time time) const {
        return seconds(evidence_.runs.empty() ? Duration{} : time - evidence_.runs.front().spawned);
    }
    [[nodiscard]] std::string text_of(const Entry& entry) const {
        return fmt::format("run {} (fence {}, {} to {})", entry.number, entry.fence,
                           at(entry.start), at(entry.last));
    }

    void gather();
    void check_overlaps(int slot, const std::vector<Entry>& entries);
    void check_fences(int slot, const std::vector<Entry>& entries);
    void check_handovers(int slot, const std::vector<Entry>& entries);
    void check_order(int slot);
    void check_status(std::size_t number);

    [[nodiscard]] bool is_calm(const Span& span, Duration after) const;
    [[nodiscard]] bool is_unhurt(int run, Time until) const;
    [[nodiscard]] Duration longest_gap(int slot, const Span& gap) const;
    [[nodiscard]] bool somebody_waits(int slot, const Span& gap) const;
    [[nodiscard]] const Entry* entry_of(std::size_t run) const {
        return entry_of_[run].run == nullptr ? nullptr : &entry_of_[run];
    }

    const Evidence& evidence_;
    Verdict verdict_;
    std::vector<Entry> entry_of_;                 ///< by run
    std::vector<std::vector<const Done*>> hits_;  ///< by run
    std::map<int, std::vector<Entry>> slots_;     ///< in order of their start
    std::map<int, std::vector<std::size_t>> runs_;
};

void Judge::gather() {
    const auto& runs = evidence_.runs;
    entry_of_.resize(runs.size());
    hits_.resize(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) runs_[runs[i].slot].push_back(i);
    for (const auto& fault : evidence_.faults)
        if (fault.run >= 0) hits_[static_cast<std::size_t>(fault.run)].push_back(&fault);
    for (const auto& sign : evidence_.signs) {
        auto& entry = entry_of_[static_cast<std::size_t>(sign.run)];
        const auto& run = runs[static_cast<std::size_t>(sign.run)];
        if (sign.slot != run.slot) complain(fmt::format("run {} is in another slot", sign.run));
        if (sign.kind == Sign::start) {
            if (entry.start != Time{}) complain(fmt::format("run {} has run twice", sign.run));
            entry.run = &run;
            entry.number = sign.run;
            entry.start = sign.at;
            entry.fence = sign.fence;
        }
        if (sign.kind == Sign::end) entry.end = sign.at;
        entry.last = std::max(entry.last, sign.at);
    }
    for (const auto& entry : entry_of_)
        if (entry.run != nullptr) slots_[entry.run->slot].push_back(entry);
    for (auto& [slot, entries] : slots_) {
        std::ranges::sort(entries, {}, &Entry::start);
        verdict_.entries += entries.size();
        for (const auto& entry : entries)
            verdict_.longest_wait =
                std::max(verdict_.longest_wait, entry.start - entry.run->spawned);
    }
}

void Judge::check_overlaps(int slot, const std::vector<Entry>& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i)
        for (std::size_t j = i + 1; j < entries.size() && entries[j].start <= entries[i].last;
             ++j) {
            if (const auto why = permitted(evidence_, entries[i], entries[j]))
                ++verdict_.permitted[*why];
            else
                complain(fmt::format(
                    "slot {}: {} and {} overlap by {}", slot, text_of(entries[i]),
                    text_of(entries[j]),
                    seconds(std::min(entries[i].last, entries[j].last) - entries[j].start)));
        }
}

void Judge::check_fences(int slot, const std::vector<Entry>& entries) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
        const auto& before = entries[i - 1];
        const auto& after = entries[i];
        // The lower fence is that of the earlier entry, which was slower to start.
        if (after.fence <= before.fence && !permitted(evidence_, after, before))
            complain(fmt::format("slot {}: the fence does not grow from {} to {}", slot,
                                 text_of(before), text_of(after)));
    }
}

/// Whether no fault of the server, and nothing of the machine, is felt then.
bool Judge::is_calm(const Span& span, Duration after) const {
    return std::ranges::none_of(
               evidence_.faults,
               [&](const Done& fault) {
                   return fault.run < 0 &&
                          Span{fault.span.from, fault.span.to + after}.touches(span);
               }) &&
           std::ranges::none_of(evidence_.stalls, [&](const Span& stall) {
               return stall.length() >= long_stall && stall.touches(span);
           });
}

/// Whether nothing was done to its processes by then.
bool Judge::is_unhurt(int run, Time until) const {
    return std::ranges::none_of(hits_[static_cast<std::size_t>(run)],
                                [&](const Done* hit) { return hit->span.from <= until; });
}

bool Judge::somebody_waits(int slot, const Span& gap) const {
    return std::ranges::any_of(runs_.at(slot), [&](std::size_t i) {
        const auto& run = evidence_.runs[i];
        if (run.waiting == Time{} || run.waiting > gap.from) return false;
        if (run.ended != Time{} && run.ended < gap.to) return false;
        const auto* entry = entry_of(i);
        return (entry == nullptr || entry->start >= gap.to) &&
               is_unhurt(static_cast<int>(i), gap.to);
    });
}

/// How long nobody may be in the slot although somebody waits, given what was done.
Duration Judge::longest_gap(int slot, const Span& gap) const {
    Duration most = slack;
    const auto part = [&](const Span& span) {
        return std::max(Duration{}, std::min(span.to, gap.to) - std::max(span.from, gap.from));
    };
    for (const auto& stall : evidence_.stalls) most += part(stall);
    for (const auto& fault : evidence_.faults) {
        if (fault.run < 0) {
            most += part({fault.span.from, fault.span.to + aftermath});
            // Who has died keeps the slot for so much longer.
            if (fault.jump < Duration{} && Span{fault.span.from, fault.span.to + 10s}.touches(gap))
                most -= fault.jump;
        } else if (const auto& run = evidence_.runs[static_cast<std::size_t>(fault.run)];
                   run.slot == slot &&
                   Span{fault.span.from - run.ttl, fault.span.to + run.ttl}.touches(gap)) {
            // A lease that lapses, or a waiter that is waited for.
            most += run.ttl + standby;
        }
    }
    return most;
}

void Judge::check_handovers(int slot, const std::vector<Entry>& entries) {
    Time last{};
    for (const auto& entry : entries) {
        const Span gap{last, entry.start};
        last = std::max(last, entry.last);
        if (gap.from == Time{} || gap.to <= gap.from || !somebody_waits(slot, gap)) continue;
        verdict_.longest_handover = std::max(verdict_.longest_handover, gap.length());
        const auto most = longest_gap(slot, gap);
        if (most == slack)
            verdict_.longest_calm_handover = std::max(verdict_.longest_calm_handover, gap.length());
        if (gap.length() > most)
            complain(fmt::format("slot {}: nobody entered for {} before {}, at most {} expected",
                                 slot, seconds(gap.length()), text_of(entry), seconds(most)));
    }
}

/// Who was in the queue before another one was even started enters before that one.
void Judge::check_order(int slot) {
    const auto& runs = runs_.at(slot);
    for (const std::size_t late : runs) {
        const auto* second = entry_of(late);
        if (second == nullptr) continue;
        for (const std::size_t early : runs) {
            const auto& run = evidence_.runs[early];
            if (run.spawned >= second->run->spawned) break;
            if (run.waiting == Time{} || run.waiting >= second->run->spawned) continue;
            const auto* first = entry_of(early);
            const bool left = first == nullptr && run.ended != Time{} && run.ended <= second->start;
            if (left || (first != nullptr && first->start < second->run->spawned)) continue;
            if (!is_unhurt(static_cast<int>(early), second->start) ||
                !is_unhurt(static_cast<int>(late), second->start) ||
                !is_calm({run.spawned, second->start}, disorder))
                continue;
            ++verdict_.pairs;
            if (first == nullptr || first->start > second->start)
                complain(fmt::format("slot {}: run {} waited from {} on, and {} entered before it",
                                     slot, early, at(run.waiting), text_of(*second)));
        }
    }
}

/// The exit status says what happened.
void Judge::check_status(std::size_t number) {
    const auto& run = evidence_.runs[number];
    const auto* entry = entry_of(number);
    const auto wrong = [&](std::string_view what) {
        complain(fmt::format("slot {}: run {} from {} ended with {}: {}", run.slot, number,
                             at(run.spawned), run.status, what));
    };
    if (run.ended == Time{}) {
        complain(fmt::format("slot {}: run {} from {} has not ended", run.slot, number,
                             at(run.spawned)));
        return;
    }
    const bool is_complete = entry != nullptr && entry->end != Time{};
    if (run.status == 0 && !is_complete) wrong("its command has not");
    for (const int status : {64, 69, 75, 77, 78, 126, 127})
        if (run.status == status && entry != nullptr) wrong("its command has run");
    if (run.status == 75 && !run.may_give_up) wrong("it was to wait");
    const auto& hits = hits_[number];
    const bool warden_was_hit = std::ranges::any_of(
        hits, [](const Done* hit) { return role_of(hit->kind) == Role::warden; });
    if (run.status == 70 && !warden_was_hit) wrong("nobody killed its warden");
    const bool is_unhurt_run = is_unhurt(static_cast<int>(number), run.ended);
    if (!is_unhurt_run || !is_calm({run.spawned, run.ended}, aftermath)) return;
    ++verdict_.waits;
    if (run.status != 0 && !(run.status == 75 && run.may_give_up)) wrong("nothing disturbed it");
}

}  // namespace

Verdict judge(const Evidence& evidence) {
    return Judge(evidence)();
}

}  // namespace chaos
