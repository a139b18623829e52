#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <exception>
#include <iostream>

#include "support/docker_engine.hpp"

// Where there is no container engine, and none can be started, these tests are skipped as a whole,
// with Meson's exit status for that.
int main(int argc, char** argv) try {
    support::shared_engine();
    return doctest::Context{argc, argv}.run();
} catch (const support::DockerEngine::NoEngine& why) {
    std::cout << "skipped: " << why.what() << '\n';
    return 77;
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
