#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace support {

using Replacements = std::vector<std::pair<std::string, std::string>>;

/// The titles of the subsections of RECIPES in the manual page.
[[nodiscard]] std::vector<std::string> recipe_titles();
/// What the subsection of that title gives to copy, with one's own
/// words in the place of the examples'. Throws where the page has no such title or word.
[[nodiscard]] std::string recipe(const std::string& title, const Replacements& own_words = {});

/// A directory to try recipes in. What was started there is gone with the object.
class Workplace {
public:
    explicit Workplace(std::string store_url) : Workplace(std::move(store_url), {}) {}
    /// With more changes of the environment, as for Launch.
    Workplace(std::string store_url, std::vector<std::string> environment);
    ~Workplace();
    Workplace(const Workplace&) = delete;
    Workplace& operator=(const Workplace&) = delete;

    [[nodiscard]] std::string operator/(const std::string& name) const { return dir_ / name; }
    /// Where sandbox-lock and programs are; the first directory of PATH.
    [[nodiscard]] std::string bin() const { return dir_ / "bin"; }
    /// Writes an executable file.
    void executable(const std::string& path, const std::string& text) const;

    /// Starts a program there.
    [[nodiscard]] Process start(const std::vector<std::string>& argv) const;
    /// Live processes that come from there, but not those that were started with other
    /// environments.
    [[nodiscard]] std::vector<pid_t> running() const { return processes_with(mark()); }
    /// The variable by which they are known.
    [[nodiscard]] std::string mark() const { return "TEST_WORKPLACE=" + dir_ / ""; }

private:
    TempDir dir_;
    std::vector<std::string> environment_;
};

}  // namespace support
