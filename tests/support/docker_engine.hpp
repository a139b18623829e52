#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace support {

/// A container engine with a busybox image: the one that the environment leads to, if it answers,
/// else one of the test's own. That one lives in PID and mount namespaces of its own, so that the
/// kernel ends it with all containers and mounts, whatever becomes of the test program. The pids
/// that it tells are therefore not those that the test sees.
class DockerEngine {
public:
    /// Returns when it answers; throws NoEngine where there cannot be one.
    DockerEngine();
    ~DockerEngine();
    DockerEngine(const DockerEngine&) = delete;
    DockerEngine& operator=(const DockerEngine&) = delete;

    struct NoEngine : std::runtime_error {
        using std::runtime_error::runtime_error;
    };

    /// What leads a client to it, for a Launch.
    [[nodiscard]] const std::vector<std::string>& environment() const noexcept {
        return environment_;
    }
    [[nodiscard]] const std::string& image() const noexcept { return image_; }

    /// `docker run OPTIONS... IMAGE COMMAND...` for a container that ends with the test at the
    /// latest. It has no network: the engine may have no right to make one.
    [[nodiscard]] std::vector<std::string> run(const std::vector<std::string>& options,
                                               const std::vector<std::string>& command) const;

    /// What `docker ARGUMENTS...` prints, without the last newline; throws if it fails.
    std::string docker(const std::vector<std::string>& arguments) const;
    /// Whether there is a container of this name, in whatever state.
    [[nodiscard]] bool has(const std::string& name) const;

private:
    struct Own {
        Own(const std::vector<std::string>& words, std::string group)
            : process(words), control_group(std::move(group)) {}
        ~Own();
        Own(const Own&) = delete;
        Own& operator=(const Own&) = delete;

        Process process;
        std::string control_group;
    };

    void start();
    [[nodiscard]] bool answers() const;
    void import_image() const;
    [[nodiscard]] std::string label() const { return "sandbox-lock-test=" + id_; }

    TempDir dir_;
    std::string id_;
    std::string image_;
    std::vector<std::string> environment_;
    std::unique_ptr<Own> own_;  ///< unless somebody else's is used
};

/// The engine that the tests of one program share; throws as its constructor does.
DockerEngine& shared_engine();

}  // namespace support
