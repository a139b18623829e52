#pragma once

#include <string>
#include <vector>

#include "support/docker_engine.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"

namespace container_tests {

using namespace support;

using Words = std::vector<std::string>;

/// A client of the engine under the lock of `agent:SLOT`.
inline Process locked(const DockerEngine& engine, const std::string& slot, const Words& command,
                      Words options = {}, Launch launch = {}) {
    options.insert(options.end(), {"agent:" + slot, "--"});
    options.insert(options.end(), command.begin(), command.end());
    launch.environment.insert(launch.environment.end(), engine.environment().begin(),
                              engine.environment().end());
    return sandbox_lock(shared_redis().unix_url(), options, std::move(launch));
}

inline bool free(const std::string& slot) {
    return !shared_redis().command({"GET", key_of("agent:" + slot)});
}

/// A container in which tests run commands by `docker exec`.
class Running {
public:
    Running(DockerEngine& engine, std::string name) : engine_(engine), name_(std::move(name)) {
        const auto words = engine.run({"--detach", "--name", name_}, {"sleep", "100000"});
        engine.docker({words.begin() + 1, words.end()});
    }
    ~Running() {
        Process remove({"docker", "rm", "--force", name_}, {.environment = engine_.environment()});
        eventually([&] { return remove.ended(); });
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    [[nodiscard]] Words exec(Words options, const Words& command) const {
        Words words{"docker", "exec"};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(name_);
        words.insert(words.end(), command.begin(), command.end());
        return words;
    }

private:
    DockerEngine& engine_;
    std::string name_;
};

}  // namespace container_tests
