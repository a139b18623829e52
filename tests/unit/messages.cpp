#include "cli/messages.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include "cli/display.hpp"
#include "cli/exit_status.hpp"
#include "cli/help.hpp"
#include "cli/settings.hpp"
#include "run/status.hpp"

TEST_CASE("nobody's key or token can forge a line or colour a terminal") {
    CHECK(cli::printable("a\nb\x1b[31m\x7f\r") == "a\\x0ab\\x1b[31m\\x7f\\x0d");
    CHECK(cli::printable("Jürgen: {x}") == "Jürgen: {x}");
    CHECK(cli::printable("\xc2\x9b"
                         "1m") == "\\xc2\\x9b1m");  // C1
    CHECK(cli::printable("\x9b"
                         "1m\xff") == "\\x9b1m\\xff");             // no UTF-8
    CHECK(cli::printable("\u202eevil") == "\\xe2\\x80\\xaeevil");  // from right to left
}

TEST_CASE("the help fits a screen and names each setting") {
    const auto help = cli::help_text();
    std::size_t lines = 0;
    for (std::size_t start = 0; start < help.size(); ++lines) {
        const auto end = help.find('\n', start);
        CHECK(end - start <= 80);
        start = end + 1;
    }
    CHECK(lines <= 54);
    for (const auto& setting : cli::all_settings())
        CHECK(help.find("--" + std::string(setting.name())) != help.npos);
}

TEST_CASE("each setting has its names in all three places") {
    for (const auto& setting : cli::all_settings()) {
        CHECK_FALSE(setting.name().empty());
        CHECK(setting.variable().starts_with("SANDBOX_LOCK_"));
        CHECK(setting.option().find("--") != std::string::npos);
    }
    const auto& wait = cli::all_settings()[1];
    CHECK(wait.name() == "wait");
    CHECK(wait.variable() == "SANDBOX_LOCK_WAIT");
    CHECK(wait.option() == "-w/--wait");
}

TEST_CASE("exit statuses") {
    using guard::Fault;
    CHECK(cli::status_of(Fault::usage, 75) == 64);
    CHECK(cli::status_of(Fault::unreachable, 75) == 69);
    CHECK(cli::status_of(Fault::internal, 75) == 70);
    CHECK(cli::status_of(Fault::system, 75) == 71);
    CHECK(cli::status_of(Fault::taken, 9) == 9);
    CHECK(cli::status_of(Fault::denied, 75) == 77);
    CHECK(cli::status_of(Fault::configuration, 75) == 78);
    CHECK(run::status_of_exec(ENOENT) == 127);
    CHECK(run::status_of_exec(EACCES) == 126);
    CHECK(run::status_of_exec(ENOEXEC) == 126);
}
