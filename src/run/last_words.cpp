#include "run/last_words.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace run {

/// A pipe that poll(2) calls writable takes PIPE_BUF bytes at once: pipe(7).
void write_last_words(std::string_view text) noexcept {
    pollfd err{STDERR_FILENO, POLLOUT, 0};
    if (poll(&err, 1, 0) != 1 || (err.revents & POLLOUT) == 0) return;
    (void)!write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

}  // namespace run
