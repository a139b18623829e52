#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "cli/display.hpp"
#include "fuzz/target.hpp"
#include "support/temp_dir.hpp"

// What needs no libFuzzer: the corpora, and what chance makes of them, the same in each run.

namespace {

using Corpus = std::vector<std::string>;
constexpr int mutations = 2000;

Corpus corpus_of(std::string_view target) {
    const auto source = std::filesystem::path(std::getenv("SANDBOX_LOCK_SOURCE"));
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(source / "tests/fuzz/corpus" / target))
        files.push_back(entry.path());
    std::ranges::sort(files);
    Corpus corpus;
    for (const auto& file : files) corpus.push_back(support::read_file(file));
    return corpus;
}

class Chance {
public:
    std::size_t below(std::size_t end) { return random_() % end; }
    /// From the start to the end of a piece of `text`.
    std::pair<std::size_t, std::size_t> piece_of(const std::string& text) {
        const auto start = below(text.size() + 1);
        return {start, start + below(std::min<std::size_t>(text.size() - start, 16) + 1)};
    }

private:
    std::minstd_rand random_{1};
};

std::string mutated(const Corpus& corpus, Chance& chance) {
    std::string text = corpus[chance.below(corpus.size())];
    for (auto changes = 1 + chance.below(4); changes > 0; --changes) {
        const auto [start, end] = chance.piece_of(text);
        const auto& other = corpus[chance.below(corpus.size())];
        const auto [from, to] = chance.piece_of(other);
        switch (chance.below(4)) {
            case 0:  // a byte, often one that means something somewhere
                text.insert(start, 1, static_cast<char>(chance.below(256)));
                break;
            case 1:
                text.erase(start, end - start);
                break;
            case 2:
                text.insert(start, text.substr(start, end - start));
                break;
            default:
                text.replace(start, end - start, other.substr(from, to - from));
        }
    }
    return text;
}

/// In memory of its own size, so that a byte too far is noticed. False where something is wrong.
bool holds(const fuzz::Target& target, const std::string& text) {
    const std::vector<char> bytes(text.begin(), text.end());
    try {
        target.run({bytes.data(), bytes.size()});
    } catch (const std::exception& broken) {
        FAIL_CHECK(std::string(broken.what()) << ": " << cli::printable(text));
        return false;
    }
    return true;
}

}  // namespace

TEST_CASE("whatever comes from outside is read, and what was read makes sense") {
    for (const auto& target : fuzz::targets) {
        SUBCASE(std::string(target.name).c_str()) {
            const auto corpus = corpus_of(target.name);
            REQUIRE_FALSE(corpus.empty());
            for (const auto& text : corpus) CHECK(holds(target, text));
            Chance chance;
            int tried = 0;
            while (tried < mutations && holds(target, mutated(corpus, chance))) ++tried;
            CHECK(tried == mutations);
        }
    }
}
