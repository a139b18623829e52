#include "cli/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/display.hpp"

namespace cli {
namespace {

using store::Finding;
using store::Verdict;

/// Before the text: the longest verdict and the longest name, each with two blanks.
constexpr std::size_t indent = 6 + 13;
constexpr std::size_t least_columns = 20;  // of text

std::string_view name_of(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::ok:
            return "OK";
        case Verdict::warn:
            return "WARN";
        case Verdict::fail:
            break;
    }
    return "FAIL";
}

/// `text` in lines of `columns`, cut at blanks, each but the first with `margin` before it.
std::string wrapped(std::string_view text, std::size_t columns, const std::string& margin) {
    std::string lines;
    std::size_t used = 0;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const auto width = columns_of(word);
        if (used > 0 && used + 1 + width > columns) {
            lines += "\n" + margin;
            used = 0;
        } else if (used > 0) {
            lines += ' ';
            ++used;
        }
        lines += word;
        used += width;
    }
    return lines + "\n";
}

}  // namespace

std::string finding_text(const Finding& finding, std::size_t columns) {
    const auto verdict = name_of(finding.verdict);
    const auto text = printable(finding.text);
    const auto remedy = printable(finding.remedy);
    if (columns == 0)
        return fmt::format("{} {}: {}{}{}\n", verdict, finding.check, text,
                           remedy.empty() ? "" : ": ", remedy);
    const std::size_t width = std::max(columns, indent + least_columns) - indent;
    const std::string margin(indent, ' ');
    auto lines = fmt::format("{:<6}{:<13}", verdict, finding.check) + wrapped(text, width, margin);
    if (!remedy.empty()) lines += margin + wrapped("-> " + remedy, width, margin + "   ");
    return lines;
}

std::string findings_json(const std::vector<Finding>& findings) {
    using Json = nlohmann::ordered_json;
    auto list = Json::array();
    for (const auto& finding : findings)
        list.push_back({{"check", finding.check},
                        {"result", name_of(finding.verdict)},
                        {"text", finding.text},
                        {"remedy", finding.remedy}});
    return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int status_of(const std::vector<Finding>& findings) noexcept {
    auto worst = Verdict::ok;
    for (const auto& finding : findings) worst = std::max(worst, finding.verdict);
    return static_cast<int>(worst);
}

}  // namespace cli
