#include "container/engine.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>

#include "container/inside_script.hpp"

namespace container {
namespace {

using namespace std::chrono_literals;
using guard::BootClock;

/// A call that has no answer by then has met an engine that hangs, and is tried again.
constexpr guard::Duration longest_call = 10s;

/// The rest of the first line that starts with `head`; none where there is no such line. A client
/// may print warnings before.
std::optional<std::string> line_after(const std::string& text, std::string_view head) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(head)) return line.substr(head.size());
    return std::nullopt;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream{text};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

std::string last_line(std::string_view text) {
    text = text.substr(0, text.find_last_not_of('\n') + 1);
    text.remove_prefix(text.rfind('\n') + 1);
    return std::string(text.substr(0, 200));
}

bool is_id(std::string_view word) {
    return word.size() >= 12 && word.find_first_not_of("0123456789abcdef") == word.npos;
}

}  // namespace

Answer Engine::operator()(std::vector<std::string> words) const {
    words.insert(words.begin(), target_.client.begin(), target_.client.end());
    auto answer = call(words, std::min(until_, guard::after(BootClock::now(), longest_call)));
    if (answer.status < 0)
        complaint_ = "the engine does not answer";
    else if (!answer.good())
        complaint_ = last_line(answer.output);
    return answer;
}

std::string Engine::mark() const {
    return (target_.is_exec ? mark_variable : mark_label) + ("=" + target_.mark);
}

std::optional<bool> Engine::is_gone() const {
    const std::string filter = is_id(id_) ? "id=" + id_ : "name=^/?" + id_ + "$";
    const auto answer = (*this)({"ps", "--all", "--quiet", "--no-trunc", "--filter", filter});
    if (!answer.good()) return std::nullopt;
    return std::ranges::none_of(words_of(answer.output), is_id);
}

std::optional<Engine::State> Engine::state() const {
    const std::string head = "sandbox-lock:";
    // Not every engine knows of execs.
    for (const char* execs : {" {{json .ExecIDs}}", " unknown"}) {
        const auto answer =
            (*this)({"inspect", "--format", head + "{{.State.Running}}" + execs, id_});
        if (answer.status < 0) return std::nullopt;
        const auto line = line_after(answer.output, head);
        if (!answer.good() || !line) continue;
        const auto words = words_of(*line);
        if (words.size() < 2) continue;
        return State{words[0] == "true", words[1] != "null" && words[1] != "[]"};
    }
    const auto gone = is_gone();
    if (!gone || !*gone) return std::nullopt;
    return State{false, false};
}

std::optional<std::vector<Process>> Engine::processes() const {
    // podman's ps is the container's own: it shows no environment.
    if (target_.client.front().find("podman") != std::string::npos) return std::nullopt;
    const auto answer = (*this)({"top", id_, "axeww", "-o", "pid,ppid,args"});
    if (!answer.good()) return std::nullopt;
    return read_table(answer.output, mark());
}

std::optional<Engine::Seen> Engine::run_script(std::vector<std::string> as_user, int signal,
                                               bool first_alone) const {
    std::vector<std::string> words{"exec"};
    words.insert(words.end(), as_user.begin(), as_user.end());
    words.insert(words.end(), {id_, "sh", "-c", inside_script, "sh", mark(), std::to_string(signal),
                               first_alone ? "first" : ""});
    const auto answer = (*this)(std::move(words));
    const auto found = line_after(answer.output, "sandbox-lock:");
    const auto unreadable = line_after(answer.output, "unreadable:");
    if (!found || !unreadable) return std::nullopt;
    return Seen{words_of(*found).size(), words_of(*unreadable)};
}

std::optional<std::size_t> Engine::signal_inside(int signal, bool first_alone) const {
    auto seen = run_script(target_.as_user, signal, first_alone);
    if (!seen) return std::nullopt;
    std::size_t found = seen->found;
    // Even root cannot look into another user's process there without the right to trace it.
    std::set<std::string> asked;
    for (const auto& user : seen->unreadable) {
        if (!asked.insert(user).second) continue;
        if (const auto more = run_script({"--user", user}, signal, first_alone))
            found += more->found;
    }
    return found;
}

std::optional<std::vector<Engine::Container>> Engine::marked() const {
    const auto answer = (*this)({"ps", "--all", "--no-trunc", "--filter", "label=" + mark(),
                                 "--format", "{{.ID}} {{.Status}}"});
    if (!answer.good()) return std::nullopt;
    std::vector<Container> found;
    std::istringstream lines{answer.output};
    for (std::string line; std::getline(lines, line);) {
        const auto end = line.find(' ');
        if (end != line.npos && is_id(line.substr(0, end)))
            found.push_back({line.substr(0, end), line.substr(end + 1)});
    }
    return found;
}

}  // namespace container
