#pragma once

#include <string>
#include <vector>

#include "support/process.hpp"

namespace chaos {

/// A network namespace, joined to ours by a pair of virtual Ethernet devices. What is sent can be
/// lost on the way as in a real network: no end is told, and TCP sends again for as long as it
/// likes. All of it is gone with this object, and with this process.
class Cable {
public:
    enum class Loses { nothing, answers, all };

    /// Throws where there can be none: it takes root, and ip(8).
    Cable();

    /// Of our end.
    [[nodiscard]] const std::string& address() const noexcept { return here_; }
    /// Has `command` run at the far end, in the process that this is given to.
    [[nodiscard]] std::vector<std::string> at_far_end(std::vector<std::string> command) const;

    void become(Loses loses);

private:
    /// Packets for another Ethernet address than the device has are dropped, so a neighbour whose
    /// address is not known rightly is not reached: ip-neighbour(8).
    void send_answers(bool right);
    void send_requests(bool right);

    std::string device_;
    std::string here_;
    std::string there_;
    support::Process far_end_;  ///< whose namespace it is
};

}  // namespace chaos
