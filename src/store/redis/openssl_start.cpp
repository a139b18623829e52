#include "store/redis/openssl_start.hpp"

// A static libcrypto asks the processor for its features before main, from .init. These are some
// CPUID instructions, and in a virtual machine each of them leaves it: where that takes 8
// microseconds, all of them take a twentieth of a start, for every run. So the linker leads the
// call here (--wrap in src/meson.build), and nothing is asked until TLS is used: OpenSSL calls the
// same function again when it is initialized. A shared libcrypto does as it likes.
#ifdef SANDBOX_LOCK_STATIC_OPENSSL
namespace {
bool started = false;
}

// The names are ld(1)'s.
extern "C" {
void __real_OPENSSL_cpuid_setup();
void __wrap_OPENSSL_cpuid_setup();

[[gnu::used]] void __wrap_OPENSSL_cpuid_setup() {
    if (started) __real_OPENSSL_cpuid_setup();
}
}

void store::redis::start_openssl() noexcept {
    started = true;
}
#else
void store::redis::start_openssl() noexcept {}
#endif
