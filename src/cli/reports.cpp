#include "cli/reports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "cli/duration.hpp"
#include "guard/owner_card.hpp"

namespace cli {
namespace {

using guard::Duration;
using guard::Level;
using guard::Report;

double seconds(Duration span) noexcept {
    return std::chrono::duration<double>(span).count();
}

}  // namespace

Report password_in_argv() {
    return {Level::warning, "password-in-argv",
            "a password in --store is seen by everybody who calls ps: use SANDBOX_LOCK_STORE, a "
            "configuration file or --password-file"};
}

Report without_effect(const std::string& place) {
    return {
        Level::notice, "without-effect",
        place + " has no effect: in this store a lock ends with its holder, and not after a time"};
}

Report passing_through() {
    return {Level::detail, "nested", "an outer call holds the slot: passing straight through"};
}

Report running_without(const guard::Error& error) {
    return {Level::warning, "running-without",
            error.text + ": running the command WITHOUT the lock (--if-down run)"};
}

Report entered(const guard::Lease& lease, Duration waited) {
    return {
        Level::detail,
        "entered",
        "entered after " + duration_text(waited),
        {{"waited_seconds", seconds(waited)}, {"fence", static_cast<std::int64_t>(lease.fence)}}};
}

Report interrupted_by(int signal) {
    return {Level::notice,
            "interrupted",
            fmt::format("interrupted by SIG{}, nothing was run", sigabbrev_np(signal)),
            {{"signal", std::int64_t{signal}}}};
}

Report keeper_killed() {
    return {Level::error, "keeper-killed",
            fmt::format("the keeper (pid {}) was killed: ending the command", getpid())};
}

Report lost(const guard::Holding& holding, bool ends_command) {
    return {Level::error, "lease-lost",
            fmt::format("the lease is lost: {}; {}", holding.why,
                        ends_command ? "ending the command" : "the command runs on")};
}

Report ttl_too_short(Duration held, Duration ttl) {
    const auto enough = std::chrono::ceil<std::chrono::seconds>(held * 2);
    return {Level::warning, "ttl-too-short",
            fmt::format("held for {} of {}, and the lease is not renewed: raise --lease-ttl to {}",
                        duration_text(held), duration_text(ttl), duration_text(enough))};
}

Report left_to_lapse(Duration ttl) {
    return {
        Level::warning, "left-to-lapse",
        fmt::format("the command had to be killed: the slot stays closed until the lease ends, at "
                    "most {}",
                    duration_text(ttl))};
}

Report freed_after_kill() {
    return {
        Level::warning, "freed-after-kill",
        "the command had to be killed: what it started elsewhere, say in a container, may go on, "
        "and the slot is free now"};
}

Report closed_after_cleanup(Duration ttl) {
    return {
        Level::warning, "left-to-lapse",
        fmt::format("the cleanup failed: the slot stays closed until the lease ends, at most {}",
                    duration_text(ttl))};
}

Report freed_after_cleanup() {
    return {Level::warning, "freed-after-cleanup",
            "the cleanup failed: what it should have ended may go on, and the slot is free now"};
}

Report lingers(Duration span) {
    return {Level::detail, "lingers",
            fmt::format("the slot stays closed for {} (--linger)", duration_text(span))};
}

Report released(Duration held) {
    return {Level::detail,
            "released",
            "released after " + duration_text(held),
            {{"held_seconds", seconds(held)}}};
}

Report release_failed(const guard::Error& error, Duration ttl) {
    return {Level::warning, "release-failed",
            fmt::format("cannot release the slot ({}): it frees itself within {}", error.text,
                        duration_text(ttl))};
}

Report cannot_run(const std::string& command, int error) {
    return {Level::error, "no-exec",
            fmt::format("cannot run '{}': {}", command, std::strerror(error))};
}

Report cannot_start(const std::string& why) {
    return {Level::error, "no-start", "cannot start the command: " + why};
}

Report over_before_start() {
    return {Level::error, "lease-lost",
            "the lease was over before the command could start, nothing was run"};
}

guard::Error no_default_store(const guard::Error& error) {
    return {error.fault, fmt::format("{}: {}", error.text, ways_without_default)};
}

guard::Error slot_taken(const std::string& holder, Duration waited) {
    return {guard::Fault::taken,
            fmt::format("not acquired{}: held by {}",
                        waited == Duration::zero() ? "" : " within " + duration_text(waited),
                        guard::describe_holder(holder))};
}

}  // namespace cli
