#include "guard/owner_card.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/display.hpp"
#include "cli/status.hpp"
#include "fuzz/target.hpp"
#include "guard/utc.hpp"

namespace {

using fuzz::require;
using guard::OwnerCard;

bool same(const OwnerCard& one, const OwnerCard& other) {
    return one.host == other.host && one.pid == other.pid && one.user == other.user &&
           one.since == other.since && one.label == other.label;
}

/// A token is one line, and gives its card back; of what is no UTF-8, what can be shown.
void check_token(const OwnerCard& card, bool is_utf8) {
    const auto token = guard::make_token(card);
    require(token.starts_with("{\"id\":\"") && token != guard::make_token(card),
            "a token starts with an id of its own");
    require(std::ranges::none_of(token, [](char c) { return c >= 0 && c < ' '; }),
            "a token is one line");
    const auto back = guard::read_card(token);
    require(back.has_value(), "a token has its card");
    require(!is_utf8 || same(*back, card), "a token has its card unchanged");
    require(same(*guard::read_card(guard::make_token(*back)), *back), "and keeps it");
}

/// The slot's line in tables and its object in JSON, whoever holds it.
void check_status(const store::SlotState& slot) {
    for (const std::size_t columns : {0U, 40U}) {
        auto table = cli::status_table({slot}, "p:", columns);
        require(table.ends_with('\n'), "a table ends with its last line");
        require(columns != 0 || std::ranges::count(table, '\n') == 2, "a slot has one line");
        std::erase(table, '\n');
        require(cli::printable(table) == table, "a table can be printed");
    }
    require(nlohmann::json::accept(cli::status_json({slot}, "p:")), "JSON is JSON");
    fuzz::require_shown({guard::Fault::taken, cli::standing_text(slot)});
}

}  // namespace

/// The bytes as a token that somebody else left, and as the parts of a card.
void fuzz::owner_card(std::string_view input) {
    const std::string text{input};
    require_shown({guard::Fault::taken, guard::describe_holder(text)});
    if (const auto card = guard::read_card(text)) check_token(*card, true);
    check_status({"p:" + text, text, std::chrono::seconds{input.size()}, 1});
    check_token({text, static_cast<pid_t>(input.size()), text, text, text},
                cli::printable(text) == text);
    if (const auto time = guard::read_utc(text))
        require(time->time_since_epoch() > std::chrono::years{-2000}, "a time is one");
}
