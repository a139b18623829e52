#pragma once

#include <string_view>

namespace run {

/// Writes to standard error without ever waiting, for when the keeper is gone: a warden that hangs
/// on a full pipe or a terminal after Ctrl-S would not end the tree.
void write_last_words(std::string_view text) noexcept;

}  // namespace run
