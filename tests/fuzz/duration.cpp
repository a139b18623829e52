#include "cli/duration.hpp"

#include <chrono>
#include <string>

#include "fuzz/target.hpp"

/// What is typed is taken; what is shown of it can be typed, and is less only by what is not shown.
void fuzz::duration(std::string_view input) {
    using namespace std::chrono_literals;
    const auto span = cli::parse_duration(input);
    if (!span) return;
    require(*span >= 0s && *span <= std::chrono::days{36525}, "a duration is in its range");

    const auto text = cli::duration_text(*span);
    const auto shown = cli::parse_duration(text);
    require(shown.has_value(), "a duration that is shown can be read");
    const guard::Duration step = *span < 1s ? 1ms : *span < 1min ? 100ms : *span < 1h ? 1s : 1min;
    require(*shown <= *span && *span - *shown < step, "a duration is shown as it is");
    require(cli::duration_text(*shown) == text, "a duration that is shown stays as it is");
}
