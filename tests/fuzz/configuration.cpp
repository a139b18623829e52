#include "cli/configuration.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/origins.hpp"
#include "fuzz/target.hpp"
#include "guard/descriptor.hpp"

namespace {

using fuzz::require;

/// A file with this text, gone with the object.
class File {
public:
    explicit File(std::string_view text) : file_(memfd_create("configuration", MFD_CLOEXEC)) {
        require(write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                "a file can be written");
    }
    [[nodiscard]] std::string path() const {
        return "/proc/self/fd/" + std::to_string(file_.get());
    }

private:
    guard::Descriptor file_;
};

/// The same values, written in the one way that takes all of them.
std::string written(const std::vector<cli::Configured>& values) {
    std::string text;
        for (const auto& [name, texts] : values) {
        text += name + " = [";
        for (const auto& value : texts) {
            text += text.ends_with('[') ? "\"" : ", \"";
            for (const char c : value) {
                if (c == '"' || c == '\\') text += '\\';
                text += c;
            }
            text += '"';
        }
        text += "]\n";
    }
    return text;
}

bool same(const cli::Configured& one, const cli::Configured& other) {
    return one.name == other.name && one.values == other.values;
}

/// A value is read as it was written.
void check_written(const std::vector<cli::Configured>& values) {
    const File file{written(values)};
    const auto read = cli::read_configuration(file.path());
    require(read && std::ranges::equal(*read, values, same), "a value is read as it was written");
}

/// Whether `value` stands in `text` with nothing of it cut off.
bool stands_whole(std::string_view text, std::string_view value) {
    constexpr std::string_view left = "= \t\"'[,";
    constexpr std::string_view right = " \t\r\n\"'],";
    for (auto at = text.find(value); at != text.npos; at = text.find(value, at + 1)) {
        const auto end = at + value.size();
        if (at > 0 && left.find(text[at - 1]) != left.npos &&
            (end == text.size() || right.find(text[end]) != right.npos))
            return true;
    }
    return false;
}

}  // namespace

void fuzz::configuration(std::string_view input) {
    const File file{input};
    const auto read = cli::read_configuration(file.path());
    if (read) {
        check_written(*read);
        const bool escapes = input.find('\\') != input.npos;
        for (const auto& [name, values] : *read)
            for (const auto& value : values)
                require(escapes || stands_whole(input, value), "a value is read as a whole");
    } else {
        require_shown(read.error());
    }
    if (const auto gathered = cli::gather({}, file.path()); !gathered)
        require_shown(gathered.error());
    if (std::ranges::none_of(input, [](char c) { return c >= 0 && c < ' ' && c != '\t'; }))
        check_written({{"label", {std::string(input)}}});
}
