#pragma once

#include <string>

#include "store/file/lock_file.hpp"
#include "store/file/lock_table.hpp"

namespace store::file {

/// The token of whoever holds the file's lock, for a person: that in the file if it is the
/// holder's. A card that a dead holder left does not count; for flock(1) and the like a card is
/// made up from what the kernel tells (proc(5), /proc/locks).
[[nodiscard]] std::string holder_of(const LockFile& file,
                                    const LockTable& table = LockTable::read());

}  // namespace store::file
