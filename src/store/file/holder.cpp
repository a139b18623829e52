#include "store/file/holder.hpp"

#include <sys/stat.h>

#include <fstream>

#include "guard/owner_card.hpp"

namespace store::file {
namespace {

using guard::OwnerCard;

std::string name_of(pid_t pid) {
    std::string name;
    std::ifstream comm{"/proc/" + std::to_string(pid) + "/comm"};
    return std::getline(comm, name) ? name : "a process that has ended";
}

std::string user_of(pid_t pid) {
    struct stat status {};
    if (stat(("/proc/" + std::to_string(pid)).c_str(), &status) != 0) return "?";
    return status.st_uid == 0 ? "root" : "user " + std::to_string(status.st_uid);
}

}  // namespace

std::string holder_of(const LockFile& file, const LockTable& table) {
    const auto token = file.read().token;
    const auto card = guard::read_card(token);
    const pid_t pid = table.find(file.fd()).holder;
    const auto here = OwnerCard::of_this_process("");
    const bool is_elsewhere = pid == 0 || (card && card->host != here.host);
    if (card && (is_elsewhere || card->pid == pid)) return token;
    if (pid == 0) return guard::make_token({here.host, 0, "?", "", "another process"});
    return guard::make_token({here.host, pid, user_of(pid), "", name_of(pid)});
}

}  // namespace store::file
