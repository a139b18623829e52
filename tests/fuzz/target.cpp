#include "fuzz/target.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "cli/display.hpp"
#include "cli/messages.hpp"

namespace fuzz {

void require(bool holds, const char* what) {
    if (!holds) throw Broken(what);
}

void require_shown(const guard::Error& error) {
    static const cli::Messages text{cli::LogFormat::text, false, false};
    static const cli::Messages json{cli::LogFormat::json, false, false};
    require(!error.text.empty(), "an error says something");
    const guard::Report report{guard::Level::error, "error", error.text};
    const auto line = text.line(report);
    require(cli::printable(line) == line, "a message is one line that can be printed");
    const auto object = json.line(report);
    require(object.find('\n') == object.npos, "a message in JSON is one line");
    require(nlohmann::json::accept(object), "a message in JSON is JSON");
}

}  // namespace fuzz
