// The scripts themselves, on a real server, case by case as in transitions.txt, which the model is
// held to as well (check.py).
#include <doctest/doctest.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/keys.hpp"
#include "store/redis/scripts.hpp"
#include "support/redis_server.hpp"

namespace {

using namespace store::redis;
using Words = std::vector<std::string>;
/// What is told of a slot, by the names in transitions.txt. A word without a value, such as
/// `young`, has an empty one.
using State = std::map<std::string, std::string>;

/// A line of the table.
struct Case {
    std::string text;
    std::string script;
    std::string caller;
    std::set<std::string> manner;  ///< what follows the caller: waits, first, …
    State before;
    std::string answer;
    State after;

    [[nodiscard]] bool is(const std::string& word) const { return manner.contains(word); }
    [[nodiscard]] bool has(const std::string& name) const { return before.contains(name); }
};

Case parsed(const std::string& line) {
    Case found;
    found.text = line;
    std::istringstream words(line);
    words >> found.script >> found.caller;
    bool is_after = false;
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        const bool is_state = equals != word.npos || word == "young" || word == "moving";
        if (word == "->") {
            words >> found.answer;
            is_after = true;
            found.after = found.before;
        } else if (is_state) {
            auto& state = is_after ? found.after : found.before;
            state[word.substr(0, equals)] = equals == word.npos ? "" : word.substr(equals + 1);
        } else {
            found.manner.insert(word);
        }
    }
    return found;
}

std::vector<Case> cases() {
    const char* source = std::getenv("SANDBOX_LOCK_SOURCE");
    std::ifstream file((source == nullptr ? "." : source) +
                       std::string("/tests/model/transitions.txt"));
    std::vector<Case> all;
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line.front() != '#') all.push_back(parsed(line));
    return all;
}

Words split(const std::string& text) {
    Words parts;
    std::istringstream stream(text == "-" ? "" : text);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

/// One connection to the server; an answer is nothing but its text, an array that of its elements.
class Line {
public:
    explicit Line(const std::string& socket)
        : context_(redisConnectUnix(socket.c_str()), redisFree) {
        REQUIRE(context_);
        REQUIRE(context_->err == 0);
        redisSetTimeout(context_.get(), timeval{20, 0});
    }
    Words ask(const Words& words) {
        std::vector<const char*> argv;
        std::vector<std::size_t> lengths;
        for (const auto& word : words) {
            argv.push_back(word.data());
            lengths.push_back(word.size());
        }
        redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), argv.data(),
                               lengths.data());
        return read();
    }
    Words read() {
        void* raw = nullptr;
        REQUIRE(redisGetReply(context_.get(), &raw) == REDIS_OK);
        const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw),
                                                                 freeReplyObject);
        Words words;
        add(*reply, words);
        return words;
    }

private:
    static void add(const redisReply& reply, Words& words) {
        if (reply.type == REDIS_REPLY_INTEGER)
            words.push_back(std::to_string(reply.integer));
        else if (reply.type == REDIS_REPLY_ARRAY)
            for (std::size_t i = 0; i < reply.elements; ++i) add(*reply.element[i], words);
        else
            words.emplace_back(reply.str, reply.len);
    }
    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

/// Brings the slot into a state. KEYS: as of the scripts. ARGV: its token ('list': another type),
/// its ms ('': endless), the fence ('': none), the mark ('': none) and the time in it, in us from
/// now; then of each waiter its name, place and ms of presence.
constexpr std::string_view setup_script = R"(
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local function at(us) return string.format('%.0f', now + us) end
redis.call('DEL', unpack(KEYS))
if ARGV[1] == 'list' then redis.call('RPUSH', KEYS[1], 'x')
elseif ARGV[1] ~= '' then
  redis.call('SET', KEYS[1], ARGV[1])
  if ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
if ARGV[3] ~= '' then redis.call('SET', KEYS[2], ARGV[3]) end
if ARGV[4] ~= '' then
  redis.call('SET', KEYS[5], ARGV[5] == '' and ARGV[4] or ARGV[4] .. at(ARGV[5]), 'PX', 86400000)
end
for i = 6, #ARGV, 3 do
  redis.call('ZADD', KEYS[3], ARGV[i + 1], ARGV[i])
  redis.call('ZADD', KEYS[4], at(ARGV[i + 2] * 1000), ARGV[i])
end
return 1)";

/// Tells the state: the token ('list': another type), TIME, the queue, the fence, the mark.
constexpr std::string_view look_script = R"(
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local is_list = redis.call('TYPE', KEYS[1]).ok == 'list'
local token = is_list and 'list' or redis.call('GET', KEYS[1]) or ''
local ttl = redis.call('PTTL', KEYS[1])
local time = ttl < 0 and 'endless' or ttl > 20000 and 'full' or 'part'
local queue = {}
for _, waiter in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  local left = tonumber(redis.call('ZSCORE', KEYS[4], waiter) or 0) - now
  local polls = string.sub(waiter, 1, 1) == 'p' and 'p' or ''
  local presence = left < 0 and 0 or left <= 1000000 and 1 or 2
  table.insert(queue, string.sub(waiter, 2) .. polls .. presence)
end
local mark = redis.call('GET', KEYS[5])
local word, when = string.match(mark or '', '(%a+):(%d+)')
if not mark then mark = '-' elseif mark == 'other' then mark = 'seen'
elseif word == 'due' then mark = when - now > 0 and 'due-later' or 'due-now'
else mark = when - now > 0 and 'open-now' or 'open-over' end
return {token, time, table.concat(queue, ','), redis.call('GET', KEYS[2]) or '', mark})";

const std::string slot_key = "agentscope:sandbox:lock:agent:table";
const CompanionKeys companions(slot_key);
const std::string fence_behind = "1000";
const std::string fence_ahead = "9000000000000000";
const std::string fence_next = "9000000000000001";

/// The token that a name of the table stands for; its time, if there is one behind it, is cut off.
std::string token_of(const std::string& holder) {
    const auto name = holder.substr(0, holder.find(':'));
    if (name == "-") return "";
    if (name == "list") return name;
    return name == "other" ? "a-uuid" : R"({"id":")" + name + R"("})";
}

std::string holder_of(const std::string& token) {
    if (token.empty()) return "-";
    if (token == "list" || token == "a value that is no lock") return "list";
    return token == "a-uuid" ? "other" : token.substr(7, token.size() - 9);
}

std::string value_of(const State& state, const std::string& name) {
    const auto found = state.find(name);
    return found == state.end() ? "-" : found->second;
}

/// A waiter of the table, such as b2, bp2 or b2!.
struct Waiter {
    explicit Waiter(const std::string& text)
        : name((text[1] == 'p' ? "p" : "m") + text.substr(0, 1)),
          presence(text[text.find_first_of("012")]),
          hears(text.back() != '!' && name.front() == 'm') {}

    std::string name;
    char presence;
    bool hears;
};

std::string channel_of(const std::string& waiter) {
    return companions.queue + ":" + waiter;
}

Words evaluation(std::string_view script, std::size_t key_count, const Words& arguments) {
    Words command{"EVAL", std::string(script), std::to_string(key_count)};
    for (const auto key : companions.with(slot_key, key_count)) command.emplace_back(key);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

Words setup_of(const State& state) {
    const auto slot = value_of(state, "slot");
    const auto time = slot.substr(slot.find(':') + 1);
    const auto fence = value_of(state, "fence");
    const auto mark = value_of(state, "mark");
    const auto dash = mark.find('-');
    Words arguments{token_of(slot),
                    time == "full"   ? "30000"
                    : time == "part" ? "10000"
                                     : "",
                    fence == "-"       ? ""
                    : fence == "ahead" ? fence_ahead
                                       : fence_behind,
                    mark == "-"      ? ""
                    : mark == "seen" ? "other"
                                     : mark.substr(0, dash) + ":",
                    mark == "due-later" || mark == "open-now" ? "20000000" : "-1000000"};
    if (mark == "-" || mark == "seen") arguments[4] = "";
    int place = 0;
    for (const auto& text : split(value_of(state, "queue"))) {
        const Waiter waiter(text);
        arguments.insert(arguments.end(), {waiter.name, std::to_string(100 + ++place),
                                           waiter.presence == '2'   ? "12000"
                                           : waiter.presence == '1' ? "990"
                                                                    : "-1"});
    }
    return evaluation(setup_script, 5, arguments);
}

/// What the client gives for the time of its arrival.
std::string arrival_of(const Case& row) {
    int place = 0;
    for (const auto& text : split(value_of(row.before, "queue"))) {
        ++place;
        if (text.front() == row.caller.front()) return std::to_string(100 + place);
    }
    return row.is("first") ? "1" : "";
}

/// Of the caller's entry.
std::string fence_of(const Case& row) {
    const bool ahead = value_of(row.before, "fence") == "ahead";
    if (!row.is("passed")) return ahead ? fence_ahead : fence_behind;
    return ahead ? "8999999999999999" : "999";
}

Words call_of(const Case& row) {
    const auto token = token_of(row.caller);
    const auto waiter = row.is("waits") ? (row.is("polls") ? "p" : "m") + row.caller : "";
    const auto count = [&](std::size_t keys) { return row.has("moving") ? 1 : keys; };
    const auto& script = row.script;
    if (script == "enter") {
        // No server is older than that, and the one of the test is older than a second.
        const std::string grace = row.is("old") ? "0" : row.has("young") ? "1000000" : "1";
        return evaluation(enter_script.text, count(5),
                          {token, "30000", "86400000", grace, waiter,
                           waiter.empty() || row.is("again") ? "" : arrival_of(row), "12000",
                           row.is("back") ? "1" : "0"});
    }
    if (script == "renew") return evaluation(renew_script.text, 1, {token, "30000", ""});
    if (script == "restore")
        return evaluation(renew_script.text, count(2), {token, "30000", fence_of(row)});
    if (script == "release" || script == "return")
        return evaluation(release_script.text, count(4),
                          {token, waiter, script == "return" ? fence_of(row) : ""});
    if (script == "break" || script == "force") {
        const auto holder = row.caller == "list" ? "a value that is no lock" : token;
        const auto in_its_place = script == "force" ? "" : token_of("taken");
        return evaluation(break_script.text, count(4), {holder, in_its_place, "30000", "86400000"});
    }
    if (script == "near") return evaluation(near_script.text, 4, {});
    if (script == "status") return evaluation(status_script.text, count(4), {});
    if (script == "tidy") return evaluation(tidy_script.text, 5, {});
    REQUIRE(script == "count");
    return {"EVAL", std::string(count_script.text), "1", companions.fence, "86400000"};
}

/// An answer in the words of the table.
std::string answer_text(const std::string& script, const Words& answer) {
    const auto& word = answer.front();
    if (script == "enter") {
        if (word == "entered") return word;
        const auto place = answer.at(2) == "-1" ? "-" : answer.at(2);
        return word + (word == "taken" ? ":" + holder_of(answer.at(1)) : "") + "@" + place;
    }
    if (script == "status") return holder_of(word) + ":" + answer.at(2);
    if (word.starts_with("foreign:")) return "foreign:" + holder_of(word.substr(8));
    if (script == "release" || script == "return") return word == "1" ? "done" : "missing";
    if (script == "renew" || script == "restore" || word == "other") return word;
    return "done";
}

/// The state in the words of the table, from what look_script answers. Who is at its channel is not
/// for a script to change, so that is told as before.
State state_of(const Words& told, const State& before) {
    State state = before;
    const auto put = [&](const std::string& name, const std::string& value) {
        if (value == "-")
            state.erase(name);
        else
            state[name] = value;
    };
    put("slot", told.at(0).empty() ? "-" : holder_of(told.at(0)) + ":" + told.at(1));
    const auto& fence = told.at(3);
    put("fence", fence.empty()           ? "-"
                 : fence == fence_behind ? "behind"
                 : fence == fence_ahead  ? "ahead"
                 : fence == fence_next   ? "next"
                                         : "now");
    put("mark", told.at(4));
    put("queue", told.at(2).empty() ? "-" : told.at(2));
    return state;
}

/// As the script can tell it.
State without_ears(State state) {
    for (auto entry = state.begin(); entry != state.end();) {
        std::erase(entry->second, '!');
        entry = entry->second == "-" ? state.erase(entry) : std::next(entry);
    }
    return state;
}

std::string text_of(const State& state) {
    std::string text;
    for (const auto& [name, value] : state) text += name + (value.empty() ? "" : "=" + value) + " ";
    return text;
}

/// Who of the queue is at its channel, and what it hears.
class Ears {
public:
    Ears(const State& state, const std::string& socket) {
        for (const auto& text : split(value_of(state, "queue"))) {
            const Waiter waiter(text);
            if (!waiter.hears) continue;
            auto& line = lines_.emplace_back(waiter.name, std::make_unique<Line>(socket)).second;
            line->ask({"SUBSCRIBE", channel_of(waiter.name)});
        }
    }
    /// What has come, in the words of the table, in order of the queue.
    std::string mail(Line& server) {
        std::string all;
        for (auto& [name, line] : lines_) {
            server.ask({"PUBLISH", channel_of(name), "that is all"});
            for (auto message = line->read(); message.at(2) != "that is all";
                 message = line->read())
                all += (all.empty() ? "" : ",") + name.substr(1) + ":" + message.at(2);
        }
        return all;
    }

private:
    std::vector<std::pair<std::string, std::unique_ptr<Line>>> lines_;
};

}  // namespace

TEST_CASE("each script does what the table says, as the model does") {
    const auto& redis = support::shared_redis();
    Line server(redis.socket());
    const auto table = cases();
    REQUIRE(table.size() > 100);
    for (const auto& row : table) {
        CAPTURE(row.text);
        Ears ears(row.before, redis.socket());
        // In one go, so that no time passes in between.
        server.ask({"MULTI"});
        server.ask(setup_of(row.before));
        server.ask(call_of(row));
        server.ask(evaluation(look_script, 5, {}));
        auto all = server.ask({"EXEC"});
        REQUIRE(all.size() > 6);
        const Words answer(all.begin() + 1, all.end() - 5);
        const Words told(all.end() - 5, all.end());

        CHECK(answer_text(row.script, answer) == row.answer);
        auto state = state_of(told, row.before);
        if (const auto mail = ears.mail(server); !mail.empty()) state["mail"] = mail;
        CHECK(text_of(without_ears(state)) == text_of(without_ears(row.after)));
        if (row.is("again")) CHECK(answer.at(3) == arrival_of(row));
        const bool has_fence = row.answer == "entered" || row.script == "count";
        if (has_fence && !row.has("moving")) CHECK(answer.back() == told.at(3));
    }
    server.ask({"FLUSHALL"});
}
