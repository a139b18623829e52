#include "support/screen.hpp"

namespace support {

std::vector<std::string> rows_of(const std::string& bytes, std::size_t columns) {
    std::vector<std::string> rows(1);
    std::size_t row = 0;
    std::size_t column = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const auto sequence = bytes.substr(at, 3);
        if (sequence == "\x1b[K" || sequence == "\x1b[J") {
            rows[row].resize(column, ' ');
            if (sequence.back() == 'J') rows.resize(row + 1);
            at += 2;
        } else if (bytes[at] == '\r') {
            column = 0;
        } else if (bytes[at] == '\n' || column == columns) {
            if (bytes[at] != '\n') column = 0, --at;  // wraps, and is looked at again
            if (++row == rows.size()) rows.emplace_back();
        } else {
            if (rows[row].size() <= column) rows[row].resize(column + 1, ' ');
            rows[row][column++] = bytes[at];
        }
    }
    for (auto& text : rows) text.erase(text.find_last_not_of(' ') + 1);
    return rows;
}

}  // namespace support
