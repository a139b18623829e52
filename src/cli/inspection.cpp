#include "cli/inspection.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// What the commands have in common.
struct Line {
    CLI::App app;
    SettingOptions settings;
    std::vector<std::string> operands;
    bool help = false;

    Line(const char* name, Words words, std::span<const Group> its_groups = groups)
        : app("", name), settings(app, words, its_groups) {
        app.set_help_flag();
        app.add_flag("-h,--help", help);
    }
    void take_keys() { app.add_option("KEY", operands); }

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
    line.take_keys();
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
    line.take_keys();
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

Result<Parsed> parse_doctor(int argc, char** argv) {
    // It looks at what a run would do, and so takes what a run takes.
    Line line("doctor", {argv, static_cast<std::size_t>(argc)}, all_groups);
    DoctorRequest request;
    line.app.add_flag("--acl", request.acl);
    line.app.add_flag("--json", request.json);
    if (const auto error = line.read(argc, argv)) return *error;
    if (line.help) return Parsed{Answer{std::string(doctor_help())}};
    if (request.acl && request.json)
        return Error{Fault::usage, "doctor: --acl prints a command, which has no form in JSON"};
    auto gathered = gather(line.settings.given(), line.settings.config());
    if (!gathered) return gathered.error();
    request.settings = std::move(gathered->settings);
    request.places = std::move(gathered->places);
    return Parsed{std::move(request)};
}

using Parser = Result<Parsed> (*)(int, char**);
constexpr std::array<std::pair<std::string_view, Parser>, 3> commands{
    {{"status", parse_status}, {"break", parse_break}, {"doctor", parse_doctor}}};

}  // namespace

std::optional<Result<Parsed>> parse_inspection(int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    const auto command =
        std::ranges::find(commands, name, &std::pair<std::string_view, Parser>::first);
    if (command == commands.end()) return std::nullopt;
    auto parsed = command->second(argc - 1, argv + 1);
    wipe_passwords(argv, argc);
    return parsed;
}

}  // namespace cli
