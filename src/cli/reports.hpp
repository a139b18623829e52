#pragma once

#include <string>
#include <string_view>

#include "guard/lease.hpp"
#include "guard/report.hpp"
#include "guard/result.hpp"

namespace cli {

// What is told about a run, in one place: the wording and the facts that go with it.

[[nodiscard]] guard::Report password_in_argv();
/// A setting that is made in `place`, but does nothing with this store.
[[nodiscard]] guard::Report without_effect(const std::string& place);
[[nodiscard]] guard::Report passing_through();
[[nodiscard]] guard::Report running_without(const guard::Error& error);
[[nodiscard]] guard::Report entered(const guard::Lease& lease, guard::Duration waited);
[[nodiscard]] guard::Report interrupted_by(int signal);
[[nodiscard]] guard::Report keeper_killed();
[[nodiscard]] guard::Report lost(const guard::Holding& holding, bool ends_command);
[[nodiscard]] guard::Report ttl_too_short(guard::Duration held, guard::Duration ttl);
[[nodiscard]] guard::Report left_to_lapse(guard::Duration ttl);
/// The same in a store where nothing lapses.
[[nodiscard]] guard::Report freed_after_kill();
/// Nobody knows whether the cleanup that failed has left something behind.
[[nodiscard]] guard::Report closed_after_cleanup(guard::Duration ttl);
[[nodiscard]] guard::Report freed_after_cleanup();
[[nodiscard]] guard::Report lingers(guard::Duration span);
[[nodiscard]] guard::Report released(guard::Duration held);
[[nodiscard]] guard::Report release_failed(const guard::Error& error, guard::Duration ttl);
[[nodiscard]] guard::Report cannot_run(const std::string& command, int error);
[[nodiscard]] guard::Report cannot_start(const std::string& why);
[[nodiscard]] guard::Report over_before_start();

/// What to do about a default store that is not there.
inline constexpr std::string_view ways_without_default =
    "name another Redis by --store or SANDBOX_LOCK_STORE, or use --store file: for locks on this "
    "machine alone";

/// The error for a default store that is not there: names the ways out.
[[nodiscard]] guard::Error no_default_store(const guard::Error& error);

/// The error for a slot that `holder` (a token) holds; `waited` is zero where nobody waited.
[[nodiscard]] guard::Error slot_taken(const std::string& holder, guard::Duration waited);

}  // namespace cli
