// Loaded into a server by LD_PRELOAD (shifted_clock.hpp): shifts its wall clock by the ns that
// stand in 8 bytes in the file TEST_CLOCK. libfaketime would be the tool for it, but does not start
// with a program that brings its own malloc (jemalloc), as redis-server does.

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* shift;

__attribute__((constructor)) static void open_shift(void) {
    const char* path = getenv("TEST_CLOCK");
    const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void* mapped = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) shift = mapped;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec* ts) {
    if (syscall(SYS_clock_gettime, clock, ts) != 0) return -1;
    if (shift == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return 0;
    const int64_t ns = ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec + *shift;
    ts->tv_sec = ns / 1000000000;
    ts->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval* tv, void* zone) {
    (void)zone;
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* out) {
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) return -1;
    if (out != NULL) *out = ts.tv_sec;
    return ts.tv_sec;
}
