#include "cli/inspection.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "cli/origins.hpp"

namespace cli {
namespace {

using guard::Error;
using guard::Fault;
using guard::Result;

constexpr std::array groups{Group::store, Group::output};

/// What both commands have in common.
struct Line {
    CLI::App app;
    SettingOptions settings;
    std::vector<std::string> operands;
    bool help = false;

    Line(const char* name, Words words) : app("", name), settings(app, words, groups) {
        app.set_help_flag();
        app.add_flag("-h,--help", help);
        app.add_option("KEY", operands);
    }

    /// Nothing where it is understood; `argv` starts with the command's own name.
    std::optional<Error> read(int argc, char** argv) {
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            const auto what = without_values(error.what(), {argv, static_cast<std::size_t>(argc)});
            return Error{Fault::usage, fmt::format("{}: {}: see sandbox-lock {} --help",
                                                   app.get_name(), what, app.get_name())};
        }
        if (const auto sound = check_values(argv, argc); !sound) return sound.error();
        return std::nullopt;
    }
};

Result<std::vector<guard::IsolationKey>> keys_in(const std::vector<std::string>& operands) {
    std::vector<guard::IsolationKey> keys;
    for (const auto& operand : operands) {
        auto key = guard::IsolationKey::parse(operand);
        if (!key) return key.error();
        keys.push_back(std::move(*key));
    }
    return keys;
}

Result<Parsed> parse_status(int argc, char** argv) {
    Line line("status", {argv, static_cast<std::size_t>(argc)});
    StatusRequest request;
    line.app.add_flag("--json", request.json);
    line.app.add_flag("--watch", request.watch);
    if (const auto error = line.read(argc, argv)) return *error;
    if (line.help) return Parsed{Answer{std::string(status_help())}};
    auto keys = keys_in(line.operands);
    if (!keys) return keys.error();
    auto gathered = gather(line.settings.given(), line.settings.config());
    if (!gathered) return gathered.error();
    if (line.settings.given().contains("quiet") && (keys->size() != 1 || request.watch))
        return Error{Fault::usage,
                     "status: -q/--quiet answers by the exit status alone: give it one KEY"};
    request.settings = std::move(gathered->settings);
    request.places = std::move(gathered->places);
    request.keys = std::move(*keys);
    return Parsed{std::move(request)};
}

Result<Parsed> parse_break(int argc, char** argv) {
    Line line("break", {argv, static_cast<std::size_t>(argc)});
    std::string token;
    bool force = false;
    line.app.add_option("--token", token);
    line.app.add_flag("--force", force);
    if (const auto error = line.read(argc, argv)) return *error;
    if (line.help) return Parsed{Answer{std::string(break_help())}};
    auto keys = keys_in(line.operands);
    if (!keys) return keys.error();
    if (keys->size() != 1) return Error{Fault::usage, "break: takes one KEY"};
    auto gathered = gather(line.settings.given(), line.settings.config());
    if (!gathered) return gathered.error();
    return Parsed{BreakRequest{std::move(gathered->settings), std::move(gathered->places),
                               std::move(keys->front()), std::move(token), force}};
}

}  // namespace

std::optional<Result<Parsed>> parse_inspection(int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    if (name != "status" && name != "break") return std::nullopt;
    auto parsed =
        name == "status" ? parse_status(argc - 1, argv + 1) : parse_break(argc - 1, argv + 1);
    wipe_passwords(argv, argc);
    return parsed;
}

}  // namespace cli
