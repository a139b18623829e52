#include "bench/commands.hpp"

#include <algorithm>
#include <sstream>

namespace bench {

Commands commands_of(const support::RedisNode& server, const Words& requests) {
    Commands sum;
    std::istringstream lines{server.command({"INFO", "commandstats"}).value_or("")};
    for (std::string line; std::getline(lines, line);) {  // cmdstat_client|tracking:calls=3,...
        const auto colon = line.find(":calls=");
        if (!line.starts_with("cmdstat_") || colon == line.npos) continue;
        const auto name = line.substr(8, colon - 8);
        const long calls = std::stol(line.substr(colon + 7));
        if (name == "info") continue;
        sum.all += calls;
        if (std::ranges::find(requests, name) != requests.end()) sum.requests += calls;
    }
    return sum;
}

}  // namespace bench
