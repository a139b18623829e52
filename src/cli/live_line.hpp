#pragma once

#include <cstddef>
#include <string>

namespace cli {

/// What the live line tells: printable text, empty where a thing is not known.
struct LiveFacts {
    std::string slot;
    std::string holder;   ///< `nightly build`
    std::string address;  ///< `ci@build7`
    std::string pid;
    std::string held;    ///< how long by now
    std::string place;   ///< in the queue: `2 before you`
    std::string waited;  ///< how long by now
    std::string left;    ///< of the time of --wait
};

/// One line, at most so wide. What is least important is left out first.
[[nodiscard]] std::string live_text(const LiveFacts& facts, std::size_t columns);

/// The line that a terminal shows in place of log lines while the program waits. It makes what is
/// to be written; cli::Messages writes it.
///
/// Between two drawings the cursor rests at the line's start. There a terminal leaves it that wraps
/// the line again when its window is made narrower, so that all of it lies behind the cursor.
class LiveLine {
public:
    /// Draws the line, or what is new in it, on a terminal that is now so wide.
    [[nodiscard]] std::string draw(const LiveFacts& facts, std::size_t columns);

    /// Removes it; nothing where it is not shown.
    [[nodiscard]] std::string erase(std::size_t columns);

    [[nodiscard]] bool shown() const noexcept { return width_ != 0; }

private:
    std::size_t width_ = 0;
};

/// Whether standard error is a terminal that can move its cursor and is ours to paint on: from the
/// background we would paint over the shell's line.
[[nodiscard]] bool can_paint() noexcept;

/// The width of that terminal now.
[[nodiscard]] std::size_t terminal_columns() noexcept;

}  // namespace cli
