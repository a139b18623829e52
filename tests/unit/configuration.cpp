#include "cli/configuration.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace {

using Words = std::vector<std::string>;

guard::Result<std::vector<cli::Configured>> read(const std::string& text) {
    const support::TempDir dir;
    support::write_file(dir / "c.toml", text);
    return cli::read_configuration(dir / "c.toml");
}

/// Of the one line `label = TEXT`.
std::string value_of(const std::string& text) {
    const auto values = read("label = " + text + "\n");
    return values && values->size() == 1 && values->front().values.size() == 1
               ? values->front().values.front()
               : "none";
}

}  // namespace

TEST_CASE("a configuration file has lines 'name = value', empty ones and comments") {
    const auto values =
        read("# first\n\n lease-ttl=90s\r\n\tno_renew = true # last\nstore =\t\"x\"#");
    REQUIRE(values);
    REQUIRE(values->size() == 3);
    CHECK((*values)[0].name == "lease-ttl");
    CHECK((*values)[0].values == Words{"90s"});
    CHECK((*values)[1].name == "no_renew");
    CHECK((*values)[1].values == Words{"true"});
    CHECK((*values)[2].values == Words{"x"});
    CHECK(read("")->empty());
}

TEST_CASE("a value is a word, or in quotes as in TOML") {
    CHECK(value_of("75") == "75");
    CHECK(value_of("redis://[::1]:7") == "redis://[::1]:7");
    CHECK(value_of("\"a # b, 'c'\" # d") == "a # b, 'c'");
    CHECK(value_of("'a \\ \"b\"'") == "a \\ \"b\"");
    CHECK(value_of("\"\"") == "");
    CHECK(value_of(R"("a\\b\"")") == "a\\b\"");
}

TEST_CASE("a value may be a list of values, on one line") {
    const auto values = read("cleanup = [ \"a, b]\" ,'c # d', 5 ]  # three\nlabel = [x]");
    REQUIRE(values);
    REQUIRE(values->size() == 2);
    CHECK((*values)[0].values == Words{"a, b]", "c # d", "5"});
    CHECK((*values)[1].values == Words{"x"});
}

TEST_CASE("whatever else a configuration file has is refused, not read as something else") {
    for (const char* value : {"",          "# x",           "[300",   "[",   "[]",          "[1 2]",
                              "[1] 2",     "[a, [b]]",      "[1,]",   "a b", "a,b",         "a#b",
                              "{a=1}",     "\"a",           "\"a\"b", "'a",  "\"a\" \"b\"", "\"a\\",
                              "\"a\\tb\"", "\"\"\"a\"\"\"", "a\"b",   "\x01"})
        CHECK_MESSAGE(value_of(value) == "none", value);
    CHECK_FALSE(read(std::string("label = 'a\0b'", 13)));
    for (const char* text : {"label", "= 1", "a b = 1", "a.b = 1", "\"label\" = 1", "[table]",
                             "[a=b]", "wait = 1\nlabel = x\nwait = 2"})
        CHECK_MESSAGE(!read(text), text);
    const auto refused = read("wait = 1\nhunter2\n");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find("line 2: not of the form 'name = value'") != std::string::npos);
    CHECK(refused.error().text.find("hunter2") == std::string::npos);
}
