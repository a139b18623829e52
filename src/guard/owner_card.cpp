#include "guard/owner_card.hpp"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "guard/random_id.hpp"
#include "guard/utc.hpp"

namespace guard {
namespace {

/// By the environment, not by getpwuid(3): that may ask a directory server, and hang.
std::string user_name() {
    for (const char* variable : {"LOGNAME", "USER"})
        if (const char* name = std::getenv(variable); name != nullptr && *name != '\0') return name;
    return geteuid() == 0 ? "root" : std::to_string(geteuid());
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

bool is_uuid(std::string_view text) noexcept {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0)
            return false;
    }
    return true;
}

}  // namespace

OwnerCard OwnerCard::of_this_process(std::string label) {
    return {host_name(), getpid(), user_name(), utc_now(), std::move(label)};
}

std::string OwnerCard::text() const {
    std::string text = label + " (" + user + "@" + host;
    if (pid != 0) text += ", pid " + std::to_string(pid);
    if (!since.empty()) text += ", since " + since;
    return text + ")";
}

std::string make_token(const OwnerCard& card) {
    const nlohmann::ordered_json json{{"id", random_id()},   {"host", card.host},
                                      {"pid", card.pid},     {"user", card.user},
                                      {"since", card.since}, {"label", card.label}};
    // A host name or label need not be UTF-8; what is not is shown as U+FFFD.
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<OwnerCard> read_card(std::string_view token) {
    const auto json = nlohmann::json::parse(token, nullptr, false);
    if (!json.is_object() || !json.contains("id")) return std::nullopt;
    const auto word = [&](const char* name) {
        const auto field = json.find(name);
        return field != json.end() && field->is_string() ? field->get<std::string>()
                                                         : std::string("?");
    };
    const auto pid = json.find("pid");
    return OwnerCard{word("host"),
                     pid != json.end() && pid->is_number_integer() ? pid->get<pid_t>() : 0,
                     word("user"), word("since"), word("label")};
}

std::string describe_holder(std::string_view token) {
    if (const auto card = read_card(token)) return card->text();
    if (is_uuid(token))
        return "another client, such as the AgentScope harness (token " + std::string(token) + ")";
    constexpr std::size_t enough = 60;
    std::string shown{token.substr(0, enough)};
    if (token.size() > enough) shown += "...";
    return token.empty() ? "nobody at the moment, but others wait for it and came first"
                         : "another client (token " + shown + ")";
}

}  // namespace guard
