#include "store/file/lock_table.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <sstream>
#include <string>

#include "fuzz/target.hpp"
#include "guard/descriptor.hpp"

/// Whatever else the kernel lists, the lock of our file is found in it.
void fuzz::lock_table(std::string_view input) {
    static const guard::Descriptor file{memfd_create("locked", MFD_CLOEXEC)};
    struct stat status {};
    require(fstat(file.get(), &status) == 0, "a file can be made");
    const auto name =
        fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
    std::istringstream locks{
        fmt::format("1: FLOCK  ADVISORY  WRITE 4711 {0} 0 EOF\n"
                    "1: -> FLOCK  ADVISORY  WRITE 4712 {0} 0 EOF\n{1}\n",
                    name, input)};
    const auto found = store::file::LockTable::read(locks).find(file.get());
    const bool is_named_again = input.find(std::to_string(status.st_ino)) != input.npos;
    require(is_named_again || (found.holder == 4711 && found.waiters == 1), "a lock is found");
}
