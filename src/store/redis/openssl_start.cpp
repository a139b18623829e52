#include "store/redis/openssl_start.hpp"

// What of a static libcrypto is not wanted; the linker leads its calls here (--wrap in
// src/meson.build). A shared libcrypto does as it likes.
//
// It asks the processor for its features before main, from .init. These are some CPUID
// instructions, and in a virtual machine each of them leaves it: where that takes 8 microseconds,
// all of them take a twentieth of a start, for every run. So nothing is asked until TLS is used:
// OpenSSL calls the same function again when it is initialized.
//
// It can load modules and look up names, for which a static libc would load shared libraries, and
// which are of no use here: the modules want a libcrypto of their own, and names are resolve.cpp's.
#ifdef SANDBOX_LOCK_STATIC_OPENSSL
#include <netdb.h>

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

void* __wrap_dlopen(const char*, int);
int __wrap_getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**);
hostent* __wrap_gethostbyname(const char*);

[[gnu::used]] void* __wrap_dlopen(const char*, int) {
    return nullptr;
}
[[gnu::used]] int __wrap_getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
    return EAI_FAIL;
}
[[gnu::used]] hostent* __wrap_gethostbyname(const char*) {
    return nullptr;
}
}

void store::redis::start_openssl() noexcept {
    started = true;
}
#else
void store::redis::start_openssl() noexcept {}
#endif
