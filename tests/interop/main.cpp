#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <exception>
#include <iostream>

#include "interop/harness.hpp"

// These tests need more than the others, and what they need is a big download. Where it is not to
// be had they are skipped as a whole, with Meson's exit status for that.
int main(int argc, char** argv) try {
    if (const auto reason = interop::cannot_compile()) {
        std::cout << "skipped: " << *reason << '\n';
        return 77;
    }
    return doctest::Context{argc, argv}.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
