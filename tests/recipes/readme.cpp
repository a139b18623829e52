// README.md's recipes are a choice of those in the manual page.
#include <doctest/doctest.h>

#include <regex>
#include <string>

#include "support/program.hpp"
#include "support/recipes.hpp"

using namespace support;

namespace {

std::string on_one_line(const std::string& text) {
    return std::regex_replace(text, std::regex{"\\s*\\\\\\n\\s*"}, " ");
}

}  // namespace

TEST_CASE("README: its recipes stand in the manual page") {
    std::string known;
    for (const auto& title : recipe_titles()) known += on_one_line(recipe(title));
    const auto readme = read_file(source_root() + "/README.md");
    const std::regex row{"\\n\\|.*\\| `(.+)` \\|"};
    int rows = 0;
    for (std::sregex_iterator at{readme.begin(), readme.end(), row}, end; at != end; ++at, ++rows) {
        const auto line = (*at)[1].str();
        CAPTURE(line);
        CHECK(known.find(line + "\n") != std::string::npos);
    }
    CHECK(rows >= 5);
}
