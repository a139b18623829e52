#include "cli/live_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/display.hpp"

namespace cli {
namespace {

/// What is left out of a line that is too long, in this order.
enum Part {
    program_name,
    full_names,
    pid,
    held,
    waited_beside_left,
    address,
    slot,
    longer_names,
    waited,
    left,
    place,
    words,
};

/// The line without the parts before `first`, and with names of at most `room` columns.
std::string line_from(int first, std::size_t room, const LiveFacts& facts) {
    const auto has = [&](Part part, const std::string& fact) {
        return part >= first && !fact.empty();
    };
    std::string line = program_name >= first ? "sandbox-lock: " : "";
    if (has(slot, facts.slot)) line += shorten(facts.slot, room) + ": ";
    if ((facts.left.empty() ? waited : waited_beside_left) >= first)
        line += facts.waited.empty() ? "waiting: " : "waiting for " + facts.waited + ": ";
    line += "held by " + shorten(facts.holder, room);
    if (has(address, facts.address))
        line += " (" + shorten(facts.address, room) +
                (has(pid, facts.pid) ? ", pid " + facts.pid : "") + ")";
    if (has(held, facts.held)) line += " for " + facts.held;
    if (has(place, facts.place)) line += "; " + facts.place;
    if (has(left, facts.left)) line += "; " + facts.left + " left";
    return line;
}

/// The line without the parts before `first`, if that is short enough. Names become shorter for it,
/// but not below what still tells them apart.
std::optional<std::string> fitting(int first, const LiveFacts& facts, std::size_t columns) {
    const std::size_t least = full_names >= first ? columns : longer_names >= first ? 24 : 12;
    for (std::size_t room = columns + 1; room-- > least;)
        if (auto line = line_from(first, room, facts); columns_of(line) <= columns) return line;
    return std::nullopt;
}

/// Goes to the line's start and erases what has been there, also where it was wrapped.
std::string_view erasure(std::size_t width, std::size_t columns) noexcept {
    return width >= columns ? "\r\x1b[J" : "\r\x1b[K";
}

}  // namespace

std::string live_text(const LiveFacts& facts, std::size_t columns) {
    for (int first = program_name; first <= words; ++first)
        if (auto line = fitting(first, facts, columns)) return *line;
    return shorten(facts.holder, columns);
}

std::string LiveLine::draw(const LiveFacts& facts, std::size_t columns) {
    const auto before = std::exchange(width_, 0);
    // The last column stays free: behind it some terminals are on the next line already.
    const auto text = live_text(facts, columns - 1);
    width_ = columns_of(text);
    return std::string(erasure(before, columns)) + text + '\r';
}

std::string LiveLine::erase(std::size_t columns) {
    return shown() ? std::string(erasure(std::exchange(width_, 0), columns)) : "";
}

bool can_paint() noexcept {
    const char* terminal = std::getenv("TERM");
    if (terminal == nullptr || *terminal == '\0' || std::string_view(terminal) == "dumb")
        return false;
    // Of what is no terminal, or not our session's, there is no foreground group.
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

std::size_t terminal_columns() noexcept {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return known ? size.ws_col : 80;
}

}  // namespace cli
