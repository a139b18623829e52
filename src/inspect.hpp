#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/parse.hpp"
#include "guard/result.hpp"
#include "run/signals.hpp"
#include "store/store.hpp"

// `status`, `break` and `doctor`: from the parsed request to the exit status.

/// How the settings say to reach the store; reads the password file.
[[nodiscard]] guard::Result<store::Access> access_by(const cli::Settings& settings);

/// The error, with the place in front that named the store.
[[nodiscard]] guard::Error named_by_place(const guard::Error& error,
                                          const std::map<std::string_view, std::string>& places);

[[nodiscard]] int show_status(const cli::StatusRequest& request,
                              const run::OriginalSignals& original);
[[nodiscard]] int break_lease(const cli::BreakRequest& request,
                              const run::OriginalSignals& original);
[[nodiscard]] int examine_store(const cli::DoctorRequest& request,
                                const run::OriginalSignals& original);
