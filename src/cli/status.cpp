#include "cli/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/display.hpp"
#include "cli/duration.hpp"
#include "guard/owner_card.hpp"
#include "guard/utc.hpp"

namespace cli {
namespace {

using guard::OwnerCard;
using store::SlotState;

constexpr std::array<std::string_view, 6> titles{"SLOT",  "STATE", "HOLDER",
                                                 "SINCE", "LEFT",  "WAITING"};
constexpr std::size_t shown_of_token = 8;
using Row = std::array<std::string, titles.size()>;

std::string holder_text(const SlotState& slot, const std::optional<OwnerCard>& card) {
    if (slot.holder.empty()) return "-";
    // By the whole token it would be as wide as a terminal; --json has that.
    if (!card) return "another client (" + slot.holder.substr(0, shown_of_token) + "...)";
    OwnerCard shown = *card;
    shown.since.clear();  // it has a column of its own
    return shown.text();
}

std::string since_text(const std::optional<OwnerCard>& card) {
    if (!card || card->since.empty()) return "-";
    const auto held = guard::since(card->since);
    if (!held) return card->since;
    return *held < std::chrono::seconds{1} ? "now" : duration_text(*held) + " ago";
}

Row row_of(const SlotState& slot, std::string_view prefix) {
    const auto card = guard::read_card(slot.holder);
    return {printable(slot_name(slot.key, prefix)),      slot.holder.empty() ? "free" : "held",
            printable(holder_text(slot, card)),          printable(since_text(card)),
            slot.left ? duration_text(*slot.left) : "-", std::to_string(slot.waiters)};
}

std::string as_table(const std::vector<Row>& rows) {
    std::array<std::size_t, titles.size()> widths{};
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], columns_of(row[i]));
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += row[i] + std::string(widths[i] - columns_of(row[i]) + 2, ' ');
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::size_t widest_line(std::string_view text) noexcept {
    std::size_t widest = 0;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        widest = std::max(widest, columns_of(line));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return widest;
}

/// For narrow terminals: the slot, and what there is to say of it in lines below.
std::string as_paragraphs(const std::vector<Row>& rows) {
    std::string text;
    for (const auto& row : rows) {
        text += fmt::format("{}: {}\n", row[0], row[1]);
        for (std::size_t i = 2; i < row.size(); ++i)
            if (row[i] != "-") text += fmt::format("  {:<8}  {}\n", titles[i], row[i]);
    }
    return text;
}

}  // namespace

std::string slot_name(std::string_view key, std::string_view prefix) {
    return std::string(key.starts_with(prefix) ? key.substr(prefix.size()) : key);
}

std::string status_table(const std::vector<SlotState>& slots, std::string_view prefix,
                         std::size_t columns) {
    std::vector<Row> rows(1);
    std::ranges::copy(titles, rows.front().begin());
    for (const auto& slot : slots) rows.push_back(row_of(slot, prefix));
    auto table = as_table(rows);
    if (columns == 0 || widest_line(table) <= columns) return table;
    rows.erase(rows.begin());
    return as_paragraphs(rows);
}

std::string status_json(const std::vector<SlotState>& slots, std::string_view prefix) {
    using Json = nlohmann::ordered_json;
    auto list = Json::array();
    for (const auto& slot : slots) {
        Json entry{{"slot", slot_name(slot.key, prefix)},
                   {"key", slot.key},
                   {"state", slot.holder.empty() ? "free" : "held"},
                   {"token", nullptr},
                   {"holder", nullptr},
                   {"ttl_ms", nullptr},
                   {"waiters", slot.waiters}};
        if (!slot.holder.empty()) entry["token"] = slot.holder;
        if (const auto card = guard::read_card(slot.holder))
            entry["holder"] = {{"label", card->label},
                               {"user", card->user},
                               {"host", card->host},
                               {"pid", card->pid},
                               {"since", card->since}};
        if (slot.left)
            entry["ttl_ms"] =
                std::chrono::duration_cast<std::chrono::milliseconds>(*slot.left).count();
        list.push_back(std::move(entry));
    }
    return Json{{"time", guard::utc_now()}, {"slots", std::move(list)}}.dump(
               2, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

std::string standing_text(const SlotState& slot) {
    if (slot.holder.empty()) return "free";
    auto text = "held by " + guard::describe_holder(slot.holder);
    if (slot.left) text += ", " + duration_text(*slot.left) + " left";
    if (slot.waiters > 0) text += fmt::format(", {} waiting", slot.waiters);
    return text;
}

}  // namespace cli
