/* For builds with coverage (tools/coverage): gcc writes its counters in exit(3) alone, and keeper and
 * warden leave by _exit(2) or exec. Counters are set back with it, since after vfork(2) they are the
 * parent's, too. What KILL ends is not counted. */
#include <gcov.h>
#include <unistd.h>

_Noreturn void __real__exit(int status);
int __real_execvpe(const char* file, char* const argv[], char* const environment[]);

_Noreturn void __wrap__exit(int status);
int __wrap_execvpe(const char* file, char* const argv[], char* const environment[]);

void __wrap__exit(int status) {
    __gcov_dump();
    __gcov_reset();
    __real__exit(status);
}

int __wrap_execvpe(const char* file, char* const argv[], char* const environment[]) {
    __gcov_dump();
    __gcov_reset();
    return __real_execvpe(file, argv, environment);
}
