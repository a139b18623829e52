#include "chaos/cable.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace chaos {
namespace {

using support::Process;
using Words = std::vector<std::string>;

const std::string far_device = "far";
const std::string mac_here = "02:00:00:00:00:01";
const std::string mac_there = "02:00:00:00:00:02";
const std::string mac_of_nobody = "02:00:00:00:00:99";

/// In the network that is kept for such tests (RFC 2544), four addresses for each process.
std::string test_address(int last) {
    const int number = (getpid() & 0x7fff) * 4 + last;
    return "198." + std::to_string(18 + (number >> 16)) + "." + std::to_string(number >> 8 & 255) +
           "." + std::to_string(number & 255);
}

void call(const Words& words) {
    Process process{words};
    if (process.wait() != 0) throw std::runtime_error(words.front() + ": " + process.err());
}

std::string network_of(pid_t pid) {
    return "/proc/" + std::to_string(pid) + "/ns/net";
}

}  // namespace

Cable::Cable()
    : device_("chaos" + std::to_string(getpid())),
      here_(test_address(1)),
      there_(test_address(2)),
      far_end_({"unshare", "--net", "sleep", "infinity"}) {
    const auto ours = std::filesystem::read_symlink(network_of(getpid()));
    const auto has_own = [&] {
        std::error_code gone;
        const auto its = std::filesystem::read_symlink(network_of(far_end_.pid()), gone);
        return !gone && its != ours;
    };
    if (!support::eventually([&] { return has_own() || far_end_.ended(); }) || far_end_.ended())
        throw std::runtime_error(far_end_.err());
    call({"ip", "link", "add", device_, "address", mac_here, "type", "veth", "peer", "name",
          far_device, "address", mac_there, "netns", std::to_string(far_end_.pid())});
    call({"ip", "address", "add", here_ + "/30", "dev", device_});
    call({"ip", "link", "set", device_, "up"});
    call(at_far_end({"ip", "address", "add", there_ + "/30", "dev", far_device}));
    call(at_far_end({"ip", "link", "set", far_device, "up"}));
    become(Loses::nothing);
}

Words Cable::at_far_end(Words command) const {
    command.insert(command.begin(), {"nsenter", "--net=" + network_of(far_end_.pid())});
    return command;
}

void Cable::become(Loses loses) {
    send_answers(loses == Loses::nothing);
    send_requests(loses != Loses::all);
}

void Cable::send_answers(bool right) {
    call({"ip", "neighbour", "replace", there_, "lladdr", right ? mac_there : mac_of_nobody, "dev",
          device_, "nud", "permanent"});
}

void Cable::send_requests(bool right) {
    call(at_far_end({"ip", "neighbour", "replace", here_, "lladdr",
                     right ? mac_here : mac_of_nobody, "dev", far_device, "nud", "permanent"}));
}

}  // namespace chaos
