#pragma once

#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/redis_node.hpp"
#include "support/temp_dir.hpp"

namespace topology {

/// A slot of one test, and a journal in which its commands write their start and their end
/// themselves, so that it shows the order and any overlap.
class Slot {
public:
    /// `options` are those of each run.
    Slot(std::string name, std::string url, std::vector<std::string> options = {});

    /// `sandbox-lock OPTIONS... SLOT -- COMMAND` with the test's store or with `url`.
    [[nodiscard]] support::Process start(const std::vector<std::string>& more_options,
                                         const std::vector<std::string>& command) const;
    /// A run that takes `seconds` when it is in.
    [[nodiscard]] support::Process brief(const std::string& run,
                                         const std::string& seconds = "0") const;
    /// A run that lasts until it is told to end.
    [[nodiscard]] support::Process lasting(const std::string& run) const;
    void end(const std::string& run) const;
    /// A run that is not in the journal, and lasts until it is ended from outside. Returns when it
    /// is in.
    [[nodiscard]] support::Process endless() const;
    /// What `status` prints about the slot.
    [[nodiscard]] std::string status() const;
    /// Takes the slot from an endless run by `break`; its exit status.
    [[nodiscard]] int break_from(const support::Process& endless) const;

    /// Whether the run gets in.
    [[nodiscard]] bool enters(const std::string& run) const;
    /// The runs in the order of their entries, between blanks; the last one may still be in. Throws
    /// where two overlap or the fence does not grow.
    [[nodiscard]] std::string runs() const;
    /// How many have ended by themselves.
    [[nodiscard]] std::size_t ended_runs() const;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::string key() const { return support::key_of(name_); }
    /// How many wait by the word of this server.
    [[nodiscard]] long waiting_at(const support::RedisNode& server) const;
    /// ms that are left of the lease there; 0 or less where there is none.
    [[nodiscard]] long left_at(const support::RedisNode& server) const;
    /// Starts briefs by these names, each when the one before is in the queue there.
    [[nodiscard]] std::vector<support::Process> line_up(const std::vector<std::string>& names,
                                                        const support::RedisNode& server) const;

    std::string url;

private:
    [[nodiscard]] std::string script(const std::string& run, const std::string& work) const;

    std::string name_;
    std::vector<std::string> options_;
    support::TempDir dir_;
};

/// Whether a text has a part.
[[nodiscard]] inline bool says(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

}  // namespace topology
