#include "store/file/lock_file.hpp"

#include <doctest/doctest.h>
#include <linux/magic.h>
#include <sys/stat.h>

#include <string>

#include "store/file/file_system.hpp"
#include "support/temp_dir.hpp"

using namespace support;
using store::file::Directory;
using store::file::file_name;
using store::file::LockFile;

TEST_CASE("a file's name is the key with all but [A-Za-z0-9._-] percent-encoded") {
    CHECK(file_name("agentscope:sandbox:lock:agent:a_B-1.x") ==
          "agentscope%3Asandbox%3Alock%3Aagent%3Aa_B-1.x");
    CHECK(file_name("a/b %~") == "a%2Fb%20%25%7E");
    CHECK(file_name("\xc3\xbc") == "%C3%BC");
}

TEST_CASE("a name that is too long keeps its start, and keys that differ keep different names") {
    CHECK(file_name(std::string(255, 'v')) == std::string(255, 'v'));
    const auto one = file_name(std::string(256, 'v'));
    CHECK(one.size() == 255);
    CHECK(one.starts_with(std::string(238, 'v') + "~"));
    CHECK(one != file_name(std::string(257, 'v')));
    CHECK(one != file_name(std::string(255, 'v') + "w"));
}

TEST_CASE("a record is read back, also after a longer one and from what is none") {
    const TempDir dir;
    const auto directory = Directory::open(dir / "locks");
    REQUIRE(directory);
    const auto file = LockFile::open(*directory, "x");
    REQUIRE(file);
    CHECK(file->read().fence == 0);
    CHECK(file->read().token.empty());
    for (const auto& token : {std::string(9000, 't'), std::string("short"), std::string()}) {
        REQUIRE(file->write({42, token}));
        CHECK(file->read().fence == 42);
        CHECK(file->read().token == token);
    }
    for (const std::string text : {"x", "x\ny\n", "99999999999999999999999\n\n", "12", "\n\n\n"}) {
        write_file(dir / "locks/x", text);
        CHECK(file->read().fence == (text == "12" ? 12 : 0));
    }
}

TEST_CASE("who may make locks in a directory may take them, and no others") {
    const TempDir dir;
    const auto mode_in = [&](const std::string& name, mode_t mode) {
        mkdir((dir / name).c_str(), mode);
        chmod((dir / name).c_str(), mode);
        const auto directory = Directory::open(dir / name);
        REQUIRE(directory);
        REQUIRE(LockFile::open(*directory, "x"));
        struct stat status {};
        REQUIRE(stat((dir / (name + "/x")).c_str(), &status) == 0);
        return status.st_mode & 07777;
    };
    CHECK(mode_in("all", 01777) == 0666);
    CHECK(mode_in("group", 02770) == 0660);
    CHECK(mode_in("readable", 0755) == 0644);
    CHECK(mode_in("own", 0700) == 0600);
    mkdir((dir / "careless").c_str(), 0777);
    chmod((dir / "careless").c_str(), 0777);
    const auto careless = Directory::open(dir / "careless");
    REQUIRE_FALSE(careless);
    CHECK(careless.error().fault == guard::Fault::configuration);
}

TEST_CASE("the file systems of networks are known by name") {
    CHECK(store::file::network_file_system(NFS_SUPER_MAGIC) == "nfs");
    CHECK(store::file::network_file_system(0xfe534d42) == "smb3");
    CHECK(store::file::network_file_system(EXT4_SUPER_MAGIC).empty());
    CHECK(store::file::network_file_system(TMPFS_MAGIC).empty());
    CHECK(store::file::network_file_system(OVERLAYFS_SUPER_MAGIC).empty());
}
