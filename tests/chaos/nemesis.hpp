#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chaos/cable.hpp"
#include "chaos/contenders.hpp"
#include "chaos/evidence.hpp"
#include "chaos/faults.hpp"
#include "chaos/server.hpp"
#include "chaos/wire.hpp"

namespace chaos {

/// Does to processes and to the server what the schedules of its seed say.
class Nemesis {
public:
    /// Without a cable there are no faults of it.
    Nemesis(std::uint64_t seed, Server& server, Wire& wire, Cable* cable, Contenders& contenders);

    /// Does what is due.
    void step();
    /// Undoes all that can be undone.
    void rest();
    void give(Evidence& evidence) { evidence.faults = std::move(done_); }

private:
    struct Stopped {
        Target target;
        Role role{};
        Time until{};
        std::size_t note = 0;  ///< its place in `done_`
    };
    /// A fault of the server that lasts.
    struct Lasting {
        Kind kind{};
        Time until{};
        std::size_t note = 0;
    };

    void hit_process(Time now);
    void hit_server(Time now);
    [[nodiscard]] Fault next_of_server();
    void inflict(const Fault& fault);
    void undo(Kind kind);
    void let_go_on(Time stopped_until);
    std::size_t note(const Done& done);

    Server& server_;
    Wire& wire_;
    Cable* cable_;
    Contenders& contenders_;
    Schedule for_processes_;
    Schedule for_server_;
    Fault next_process_;
    Fault next_server_;
    Time process_due_;
    Time server_due_;
    std::vector<Stopped> stopped_;
    std::optional<Lasting> lasting_;
    Time holders_come_first_{};  ///< until then none is stopped
    std::vector<Done> done_;
};

}  // namespace chaos
