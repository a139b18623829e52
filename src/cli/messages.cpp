#include "cli/messages.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/display.hpp"
#include "guard/utc.hpp"
#include "store/url.hpp"

namespace cli {
namespace {

using guard::Level;
using guard::Report;

constexpr std::array<std::string_view, 4> level_names{"detail", "notice", "warning", "error"};

std::string_view name_of(Level level) noexcept {
    return level_names[static_cast<std::size_t>(level)];
}

std::string_view name_of(guard::Fault fault) noexcept {
    switch (fault) {
        case guard::Fault::usage:
            return "usage";
        case guard::Fault::configuration:
            return "configuration";
        case guard::Fault::unreachable:
            return "store-unreachable";
        case guard::Fault::denied:
            return "store-denied";
        case guard::Fault::taken:
            return "not-acquired";
        case guard::Fault::interrupted:
            return "interrupted";
        case guard::Fault::system:
            return "system";
        case guard::Fault::internal:
            break;
    }
    return "internal";
}

/// Whether standard error takes a line at once: a pipe that poll(2) calls writable takes PIPE_BUF
/// bytes.
bool can_write() noexcept {
    pollfd err{STDERR_FILENO, POLLOUT, 0};
    return poll(&err, 1, 0) == 1 && (err.revents & POLLOUT) != 0;
}

/// What is lost is drawn again a second later.
void paint(const std::string& bytes) noexcept {
    (void)!::write(STDERR_FILENO, bytes.data(), bytes.size());
}

}  // namespace

Messages::Messages(LogFormat format, bool quiet, bool verbose)
    : logger_(std::make_unique<spdlog::logger>("sandbox-lock",
                                               std::make_shared<spdlog::sinks::stderr_sink_st>())),
      format_(format),
      least_(quiet     ? Level::error
             : verbose ? Level::detail
                       : Level::notice) {
    logger_->set_pattern("%v");
}

Messages::~Messages() = default;
Messages::Messages(Messages&&) noexcept = default;
Messages& Messages::operator=(Messages&&) noexcept = default;

void Messages::about(std::string slot, std::string store_key) {
    slot_ = std::move(slot);
    store_key_ = std::move(store_key);
}

void Messages::operator()(const Report& report) {
    if (report.level >= least_) write(line(report));
}

void Messages::may_wait(bool allowed) {
    may_wait_ = allowed;
    write_held_back();
}

bool Messages::show_live(LiveFacts facts) {
    if (format_ != LogFormat::text || least_ > Level::notice || !can_paint()) return false;
    facts.slot = printable(slot_);
    if (can_write()) paint(live_.draw(facts, terminal_columns()));
    return true;
}

void Messages::hide_live() {
    if (!live_.shown()) return;
    const auto bytes = live_.erase(terminal_columns());
    // What cannot be erased now stays: later it would be the command's output that is erased.
    if (can_paint() && can_write()) paint(bytes);
}

void Messages::write(std::string line) {
    hide_live();
    held_back_.push_back(std::move(line));
    write_held_back();
}

void Messages::write_held_back() {
    auto next = held_back_.begin();
    while (next != held_back_.end() && (may_wait_ || can_write())) logger_->info("{}", *next++);
    held_back_.erase(held_back_.begin(), next);
}

std::string Messages::line(const Report& report) const {
    // What the user typed in the wrong place is quoted, too.
    const std::string message = store::redacted_urls(report.text);
    if (format_ == LogFormat::text)
        return fmt::format("sandbox-lock: {}{}", slot_.empty() ? "" : printable(slot_) + ": ",
                           printable(message));
    nlohmann::ordered_json json{{"time", guard::utc_now()},
                                {"level", name_of(report.level)},
                                {"event", report.event},
                                {"message", message}};
    if (!slot_.empty()) {
        json["slot"] = slot_;
        json["key"] = store_key_;
    }
    for (const auto& [name, fact] : report.facts)
        std::visit([&](const auto& value) { json[std::string(name)] = value; }, fact);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void Messages::fatal(const guard::Error& error) {
    (*this)({Level::error, name_of(error.fault), error.text});
}

}  // namespace cli
