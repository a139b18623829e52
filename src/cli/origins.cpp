#include "cli/origins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "cli/configuration.hpp"

namespace cli {
namespace {

using guard::Done;
using guard::Error;
using guard::Fault;
using guard::Result;

/// A setting's text and where it stands.
struct Origin {
    std::string place;
    std::string text;
    Fault fault;
    int rank;  ///< of the place: a higher one counts
};
using Origins = std::map<std::string_view, Origin>;
enum Rank : int { system_file, user_file, environment, command_line };

/// Settings of which a stronger place's one also does away with a weaker place's other.
std::string_view rival_of(std::string_view name) noexcept {
    constexpr std::array<std::array<std::string_view, 2>, 2> rivals{
        {{"quiet", "verbose"}, {"nonblock", "wait"}}};
    for (const auto& [one, other] : rivals) {
        if (name == one) return other;
        if (name == other) return one;
    }
    return {};
}

/// Called in rising order of rank.
void note(Origins& origins, std::string_view name, Origin origin) {
    const auto rival = origins.find(rival_of(name));
    if (rival != origins.end() && rival->second.rank < origin.rank) origins.erase(rival);
    origins[name] = std::move(origin);
}

const Setting* setting_named(std::string_view name) noexcept {
    const auto found = std::ranges::find(all_settings(), name, &Setting::name);
    return found == all_settings().end() ? nullptr : &*found;
}

Result<Done> add_configured(Origins& origins, const std::string& path, int rank) {
    const auto configured = read_configuration(path);
    if (!configured) return configured.error();
    for (const auto& [name, values] : *configured) {
        const Setting* setting = setting_named(name);
        if (setting == nullptr)
            return Error{Fault::configuration,
                         fmt::format("configuration file '{}': unknown setting '{}': use the long "
                                     "options' names, such as lease-ttl",
                                     path, name)};
        if (values.size() != 1 && !setting->repeats)
            return Error{Fault::configuration,
                         fmt::format("configuration file '{}': '{}' takes one value, in quotes if "
                                     "it has spaces",
                                     path, name)};
        note(origins, setting->name(),
             {fmt::format("configuration file '{}': {}", path, name), joined_texts(values),
              Fault::configuration, rank});
    }
    return Done{};
}

void add_environment(Origins& origins) {
    const auto add = [&](const Setting& setting, const std::string& variable) {
        const char* value = std::getenv(variable.c_str());
        if (value != nullptr && *value != '\0')
            note(origins, setting.name(), {variable, value, Fault::configuration, environment});
    };
    for (const Setting& setting : all_settings()) {
        if (setting.name() == "store") add(setting, "REDIS_URL");
        add(setting, setting.variable());
    }
}

Result<Settings> settings_from(const Origins& origins) {
    Settings settings;
    for (const auto& [name, origin] : origins)
        if (const auto set = setting_named(name)->apply(settings, origin.text); !set)
            return Error{origin.fault, origin.place + ": " + set.error().text};
    if (const auto sound = check(settings); !sound) return sound.error();
    return settings;
}

}  // namespace

Result<Gathered> gather(const std::map<std::string_view, std::string>& options,
                        const std::string& config) {
    Origins origins;  // later places overwrite earlier ones
    const auto files =
        config.empty() ? default_configuration_files() : std::vector<std::string>{config};
    int rank = system_file;
    for (const auto& path : files)
        if (const auto added = add_configured(origins, path, rank++); !added) return added.error();
    add_environment(origins);
    for (const auto& [name, text] : options)
        note(origins, name, {setting_named(name)->option(), text, Fault::usage, command_line});

    auto settings = settings_from(origins);
    if (!settings) return settings.error();
    Gathered gathered{std::move(*settings), {}};
    for (const auto& [name, origin] : origins) gathered.places.emplace(name, origin.place);
    return gathered;
}

}  // namespace cli
