#include "chaos/evidence.hpp"

#include <sstream>
#include <stdexcept>

namespace chaos {

std::vector<Sign> read_signs(std::istream& history) {
    std::vector<Sign> signs;
    for (std::string line; std::getline(history, line);) {
        std::istringstream words{line};
        char kind = 0;
        Duration::rep at = 0;
        Sign sign;
        words >> kind >> at >> sign.slot >> sign.fence >> sign.run >> sign.pid;
        if (!words || std::string_view("SEB").find(kind) == std::string_view::npos)
            throw std::runtime_error("no line of a history: " + line);
        sign.kind = static_cast<Sign::Kind>(kind);
        sign.at = Time{Duration{at}};
        signs.push_back(sign);
    }
    return signs;
}

}  // namespace chaos
