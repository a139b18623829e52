#include "cli/display.hpp"

#include <doctest/doctest.h>

#include <string>

using cli::columns_of;
using cli::shorten;

TEST_CASE("columns: letters, marks over them, wide characters") {
    CHECK(columns_of("") == 0);
    CHECK(columns_of("abc") == 3);
    CHECK(columns_of("Jürgen") == 6);
    CHECK(columns_of("Ju\u0308rgen") == 6);
    CHECK(columns_of("東京") == 4);
    CHECK(columns_of("한글") == 4);
    CHECK(columns_of("🚀") == 2);
    CHECK(columns_of("\xff\xc3") == 2);
}

TEST_CASE("what is too long ends in dots, and no character is cut") {
    CHECK(shorten("nightly", 7) == "nightly");
    CHECK(shorten("nightly", 6) == "nig...");
    CHECK(shorten("nightly", 3) == "...");
    CHECK(shorten("nightly", 1) == ".");
    CHECK(shorten("nightly", 0).empty());
    CHECK(shorten("üüüüü", 4) == "ü...");
    CHECK(shorten("東京タワー", 6) == "東...");
    CHECK(shorten("東京タワー", 7) == "東京...");
    CHECK(shorten("e\u0301e\u0301e\u0301e\u0301e\u0301", 4) == "e\u0301...");
}
