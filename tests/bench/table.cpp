#include "bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

/// Something that was measured of the tools: its place in a tool's entry, how it is shown.
struct Row {
    std::string title;
    std::string path;
    double unit = 1;
    int digits = 3;
};

const std::vector<Row> start_rows{
    {"start-up, ms", "/ms/median"},
    {"  p10", "/ms/p10"},
    {"  p90", "/ms/p90"},
    {"  the first column is times it", "/ratio/median"},
    {"  +-", "/ratio/error"},
    {"  instructions, millions", "/instructions/sum", 1e6},
    {"    of them, forked process", "/instructions/forked", 1e6},
};
const std::vector<Row> handover_rows{
    {"hand-over, ms", "/ms/median"},
    {"  p99", "/ms/p99", 1, 2},
    {"  requests to the server", "/commands/requests", 1, 2},
    {"  with what scripts call", "/commands/all", 1, 1},
    {"  memory of a waiter, MiB", "/waiter_kib", 1024, 2},
};

class Table {
public:
    explicit Table(std::vector<std::string> tools) : tools_(std::move(tools)) {
        out_ = fmt::format("{:<32}", "");
        for (const auto& tool : tools_) add_cell(tool);
        out_ += '\n';
    }

    void add(const Json& tools, const Row& row) {
        const Json::json_pointer path{row.path};
        const auto has = [&](const auto& tool) {
            return tools.contains(tool) && tools[tool].contains(path);
        };
        if (std::ranges::none_of(tools_, has)) return;
        out_ += fmt::format("{:<32}", row.title);
        for (const auto& tool : tools_)
            add_cell(has(tool) ? fmt::format("{:.{}f}",
                                             tools[tool][path].template get<double>() / row.unit,
                                             row.digits)
                               : "-");
        out_ += '\n';
    }
    void add_heading(const std::string& text) { out_ += "\n" + text + "\n"; }

    [[nodiscard]] const std::string& text() const noexcept { return out_; }

private:
    void add_cell(const std::string& text) { out_ += fmt::format(" {:>9}", text); }

    std::vector<std::string> tools_;
    std::string out_;
};

/// Of both parts, in their order.
std::vector<std::string> tools_in(const Json& figures) {
    std::vector<std::string> names;
    const auto add = [&](const Json& part) {
        for (const auto& [name, entry] : part["tools"].items())
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    if (figures.contains("start")) add(figures["start"]);
    for (const auto& size : figures.value("handover", Json::array())) add(size);
    return names;
}

std::string aims_as_text(const Json& aims) {
    std::string text = fmt::format("\n{:<52}{:>8}{:>10}\n", "aims", "", "measured");
    for (const auto& aim : aims)
        text +=
            fmt::format("{:<52}{:>6}{:>10.2f}  {}\n", aim["what"].get<std::string>(),
                        fmt::format("<= {}", aim["limit"].get<double>()),
                        aim["measured"].get<double>(), aim["met"].get<bool>() ? "met" : "missed");
    return text;
}

std::string overlaps_as_text(const Json& figures) {
    std::string text;
    for (const auto& size : figures.value("handover", Json::array()))
        for (const auto& [name, entry] : size["tools"].items())
            if (const int count = entry["overlaps"]; count > 0)
                text += fmt::format("{} let {} of {} commands overlap\n", name, count,
                                    entry["runs"].get<int>());
    return text;
}

}  // namespace

std::string table_of(const Json& figures) {
    Table table(tools_in(figures));
    if (figures.contains("start"))
        for (const auto& row : start_rows) table.add(figures["start"]["tools"], row);
    for (const auto& size : figures.value("handover", Json::array())) {
        const int waiters = size["waiters"];
        table.add_heading(fmt::format("{} waiter{}", waiters, waiters == 1 ? "" : "s"));
        for (const auto& row : handover_rows) table.add(size["tools"], row);
    }
    std::string text =
        fmt::format("{}\n{}\n", figures["machine"].get<std::string>(),
                    fmt::join(figures["versions"].get<std::vector<std::string>>(), ", "));
    for (const auto& tool : figures["missing"])
        text += fmt::format("without {}, which is not installed\n", tool.get<std::string>());
    return text + "\n" + table.text() + aims_as_text(figures["aims"]) + overlaps_as_text(figures);
}

}  // namespace bench
