#pragma once

#include <string>
#include <vector>

#include "container/target.hpp"
#include "guard/result.hpp"

namespace container {

struct MarkedLine {
    std::vector<std::string> command;  ///< with the mark's options behind `run` or `exec`
    Target target;
};

/// Understands `docker [OPTION]... [container] run|exec [OPTION]... ...` (or podman, nerdctl) for
/// the container `name`, and marks what it starts with `mark`. Refused is what cannot be seen
/// through or would not hold: another program, `--detach`, another container than `name`.
[[nodiscard]] guard::Result<MarkedLine> mark_line(const std::vector<std::string>& command,
                                                  const std::string& name, const std::string& mark);

/// Whether it can be a container's name; one like an option is none.
[[nodiscard]] bool is_container_name(const std::string& name) noexcept;

}  // namespace container
