// A command for the hand-over bench: stamp LOG MILLISECONDS [GATE]. Appends when it started and
// ended, in ns of CLOCK_MONOTONIC, as one line of text. With GATE it holds until that file exists,
// or LOG is gone, which exists as soon as it runs.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char** argv) {
    const long long start = now();
    if (argc < 3) return 64;
    const int log = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const long long ns = atoll(argv[2]) * 1000000;
    const struct timespec hold = {ns / 1000000000, ns % 1000000000};
    do nanosleep(&hold, NULL);
    while (argc > 3 && access(argv[3], F_OK) != 0 && access(argv[1], F_OK) == 0);
    char line[64];
    const int size = snprintf(line, sizeof line, "%lld %lld\n", start, now());
    return log >= 0 && write(log, line, (size_t)size) == size ? EXIT_SUCCESS : EXIT_FAILURE;
}
