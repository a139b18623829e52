// The command of the chaos test: job HISTORY LIFE OUTLIVE DESCENDANTS STUBBORN
// Lives LIFE ms, with that many descendants, of which every second one is an orphan in a session of
// its own. They end before it does, or OUTLIVE ms after it. A stubborn one heeds KILL alone. All of
// them write that they are alive, one line by one write(2) each:
// KIND TIME SLOT FENCE RUN PID, with the kinds S (start), E (end), B (beat), ns of CLOCK_BOOTTIME.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { beat_ms = 10, longest_life_ms = 20000 };

static int history = -1;
static const char* place[3];  // slot, fence, run

static long long now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void sign(char kind) {
    char line[128];
    const int size = snprintf(line, sizeof line, "%c %lld %s %s %s %d\n", kind, now(), place[0],
                              place[1], place[2], (int)getpid());
    if (write(history, line, (size_t)size) != size) _exit(3);
}

static const char* variable(const char* name) {
    const char* value = getenv(name);
    if (value == NULL || *value == '\0') _exit(4);
    return value;
}

// Beats until that time, or until a byte comes from `stop`. Its end of file means nothing: a
// descendant lives on when the command is killed, to see whether somebody ends it.
static void live(long long until_ms, int stop) {
    const long long end = now() + until_ms * 1000000;
    while (now() < end) {
        const long long left = (end - now()) / 1000000 + 1;
        struct pollfd ear = {stop, POLLIN, 0};
        if (poll(&ear, 1, (int)(left < beat_ms ? left : beat_ms)) > 0) {
            char byte;
            if (read(stop, &byte, 1) == 1) break;
            stop = -1;
        }
        sign('B');
    }
}

static void start_descendant(int is_orphan, long long life, const int stop[2], int gone) {
    const pid_t child = fork();
    if (child < 0) _exit(5);
    if (child > 0) return;
    if (is_orphan) {
        setsid();
        if (fork() != 0) _exit(0);
    }
    close(stop[1]);
    live(life, stop[0]);
    sign('B');
    close(gone);
    _exit(0);
}

int main(int argc, char** argv) {
    if (argc != 6) return 64;
    place[0] = variable("SANDBOX_LOCK_VALUE");
    place[1] = variable("SANDBOX_LOCK_FENCE");
    place[2] = variable("CHAOS_RUN");
    history = open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (history < 0) return 2;
    sign('S');
    const long long life = atoll(argv[2]);
    const long long outlive = atoll(argv[3]);
    const int descendants = atoi(argv[4]);
    if (atoi(argv[5])) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
    }
    int stop[2];
    int gone[2];
    if (pipe(stop) != 0 || pipe(gone) != 0) return 5;
    for (int i = 0; i < descendants; ++i)
        start_descendant(i % 2, outlive > 0 ? life + outlive : longest_life_ms, stop, gone[1]);
    close(gone[1]);
    live(life, -1);
    if (outlive == 0) {
        char byte = 0;
        for (int i = 0; i < descendants; ++i)
            if (write(stop[1], &byte, 1) != 1) return 5;
        while (read(gone[0], &byte, 1) > 0) continue;
    }
    sign('E');
    return EXIT_SUCCESS;
}
