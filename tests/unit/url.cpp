#include "store/url.hpp"

#include <doctest/doctest.h>

#include <string>

#include "store/redis/endpoint.hpp"
#include "store/redis/sentinel_route.hpp"

using store::Url;
using store::redis::Endpoint;
using store::redis::SentinelAddress;

namespace {

guard::Result<Endpoint> endpoint(const std::string& text) {
    const auto url = Url::parse(text);
    if (!url) return url.error();
    return Endpoint::from(*url, std::nullopt);
}

guard::Result<SentinelAddress> sentinels(const std::string& text,
                                         const store::Access& access = {}) {
    const auto url = Url::parse(text);
    if (!url) return url.error();
    return SentinelAddress::from(*url, access);
}

}  // namespace

TEST_CASE("a URL with everything") {
    const auto there = endpoint("redis://al%40ice:p%3A%2Fw%25@redis.example:7000/3");
    REQUIRE(there);
    CHECK(there->user == "al@ice");
    CHECK(there->password == "p:/w%");
    CHECK(there->host == "redis.example");
    CHECK(there->port == "7000");
    CHECK(there->database == 3);
    CHECK(there->text() == "redis://redis.example:7000/3");
}

TEST_CASE("parts that may be left out") {
    CHECK(endpoint("redis://h")->port == "6379");
    CHECK(endpoint("REDIS://h/")->database == 0);
    CHECK(endpoint("redis://:pw@h")->password == "pw");  // a password without a user is a login
    CHECK(endpoint("redis://:pw@h")->user.empty());
    CHECK(endpoint("rediss://:pw@h/2")->port == "6379");
    CHECK(endpoint("redis://[::1]:7/0")->host == "::1");
    CHECK(endpoint("redis://[::1]")->text() == "redis://[::1]:6379");
    CHECK_FALSE(endpoint("redis://user@h"));
    CHECK(Endpoint::from(*Url::parse("redis://user@h"), "elsewhere")->password == "elsewhere");
    CHECK(Endpoint::from(*Url::parse("redis://:own@h"), "elsewhere")->password == "own");
}

TEST_CASE("percent-encoding gives bytes") {
    CHECK(endpoint("redis://:%00%ff@h")->password == std::string("\0\xff", 2));
}

TEST_CASE("sockets") {
    CHECK(endpoint("redis+unix:///run/redis%20x.sock?db=2")->unix_path == "/run/redis x.sock");
    CHECK(endpoint("redis+unix:///run/redis.sock?db=2")->database == 2);
    CHECK(endpoint("redis+unix://u:p@/run/r.sock")->password == "p");
    CHECK(endpoint("redis+unix:///run/r.sock")->text() == "redis+unix:///run/r.sock");
}

TEST_CASE("sentinels") {
    store::Access access;
    access.password = "elsewhere";
    access.sentinel_user = "watcher";
    access.sentinel_password = "theirs";
    const auto there =
        sentinels("redis+sentinel://u:p%2Cw@one,[::1]:7,three:8/my%20master/3", access);
    REQUIRE(there);
    REQUIRE(there->sentinels.size() == 3);
    CHECK(there->sentinels[0].host == "one");
    CHECK(there->sentinels[0].port == "26379");
    CHECK(there->sentinels[1].host == "::1");
    CHECK(there->sentinels[1].port == "7");
    CHECK(there->sentinels[2].user == "watcher");
    CHECK(there->sentinels[2].password == "theirs");
    CHECK(there->master_name == "my master");
    CHECK(there->server.user == "u");
    CHECK(there->server.password == "p,w");
    CHECK(there->server.database == 3);

    CHECK(sentinels("redis+sentinel://one/m", access)->server.password == "elsewhere");
    CHECK(sentinels("redis+sentinel://one/m")->server.database == 0);
    CHECK_FALSE(sentinels("redis+sentinel://one/m")->sentinels[0].password);
    for (const char* text :
         {"redis+sentinel:///m", "redis+sentinel://one", "redis+sentinel://one/",
          "redis+sentinel://one,/m", "redis+sentinel://,one/m", "redis+sentinel://one:x/m",
          "redis+sentinel://one/m/x", "redis+sentinel://one/m/1/2", "redis+sentinel://one/m?db=1",
          "redis+sentinel://u@one/m"})
        CHECK_FALSE(sentinels(text));
    access.sentinel_password.reset();
    CHECK_FALSE(sentinels("redis+sentinel://one/m", access));
}

TEST_CASE("bad URLs are refused in one line, without their password") {
    for (const char* text : {"",
                             "h",
                             "://h",
                             "redis:/h",
                             "redis://",
                             "redis:///1",
                             "redis://h:0",
                             "redis://h:65536",
                             "redis://h:x",
                             "redis://h/x",
                             "redis://h/-1",
                             "redis://h/1/2",
                             "redis://h?db=1",
                             "redis://h#f",
                             "redis://::1",
                             "redis://[::1",
                             "redis://[::1]x",
                             "redis://%zz@h",
                             "redis://%4",
                             "rediss://",
                             "rediss://h?db=1",
                             "redis+unix://",
                             "redis+unix:///",
                             "redis+unix://h/s",
                             "redis+unix:///s?x=1",
                             "redis+unix:///s?db=",
                             "redis+unix:///%00",
                             "redis://a%00b",
                             "redis://h1,h2",
                             "redis+unix://,/s"})
        CHECK_FALSE(endpoint(text));
    CHECK_FALSE(endpoint("redis+unix:///" + std::string(200, 'x')));
    for (const std::string text :
         {"redis://u:secret@h:x", "redis://u:sec#ret@h", "x:secret@h", "redis://:secret@h/z",
          "redis://u:secret/more@h", "redis://u:s%zecret@h", "u:secret@h"}) {
        const auto there = endpoint(text);
        CAPTURE(text);
        REQUIRE_FALSE(there);
        CHECK(there.error().fault == guard::Fault::configuration);
        CHECK(there.error().text.find("ret") == std::string::npos);
        CHECK(there.error().text.find("more") == std::string::npos);
    }
}

TEST_CASE("a password is found wherever it stands") {
    CHECK(store::redacted("redis://u:secret@h/1") == "redis://u:***@h/1");
    CHECK(store::redacted("redis://:secret@h") == "redis://:***@h");
    CHECK(store::redacted("--store=redis://u:a:b@h") == "--store=redis://u:***@h");
    CHECK(store::redacted("redis://u:p@ss@h") == "redis://u:***@h");
    CHECK(store::redacted("redis://h:6379/0") == "redis://h:6379/0");
    CHECK(store::redacted("redis://u@h:6379") == "redis://u@h:6379");
    CHECK(store::redacted("redis://u:p/w@h") == "redis://u:***@h");
    CHECK(store::redacted("redis://h:1/x@y").find("x@y") == std::string::npos);
    CHECK(store::redacted_urls("KEY 'redis://u:secret@h' and \"x://:secret@h\", a:b@c; no more") ==
          "KEY 'redis://u:***@h' and \"x://:***@h\", a:b@c; no more");
    CHECK(store::redacted_urls("store redis://h:6379: it's down") ==
          "store redis://h:6379: it's down");
}
