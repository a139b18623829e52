#include "container/client_line.hpp"

#include <doctest/doctest.h>

#include <sstream>

using container::mark_line;

namespace {

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream{text};
    std::vector<std::string> found;
    for (std::string word; stream >> word;) found.push_back(word);
    return found;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

/// The marked command line, or why there is none.
std::string marked(const std::string& line) {
    const auto result = mark_line(words(line), "box", "M");
    return result ? joined(result->command) : "refused: " + result.error().text;
}

}  // namespace

TEST_CASE("a client's command line is marked right behind its verb") {
    const std::string env = " --env SANDBOX_LOCK_EXEC=M";
    CHECK(marked("docker exec box true") == "docker exec" + env + " box true");
    CHECK(marked("podman exec -it -u 5 box sh -c x") ==
          "podman exec" + env + " -it -u 5 box sh -c x");
    CHECK(marked("/usr/bin/docker -H exec --context=run -D container exec --workdir / box box") ==
          "/usr/bin/docker -H exec --context=run -D container exec" + env + " --workdir / box box");
    CHECK(marked("nerdctl -n ns exec -e A=b --privileged -- box true") ==
          "nerdctl -n ns exec" + env + " -e A=b --privileged -- box true");
    CHECK(marked("docker run --rm img true") ==
          "docker run --label sandbox-lock=M --name box --rm img true");
    CHECK(marked("docker run --name=box img --name other") ==
          "docker run --label sandbox-lock=M --name=box img --name other");
}

TEST_CASE("what is needed to find the work again is kept") {
    const auto exec =
        mark_line(words("docker -c ctx exec --privileged -u 1:2 -i box x"), "box", "M");
    REQUIRE(exec);
    CHECK(exec->target.is_exec);
    CHECK(joined(exec->target.client) == "docker -c ctx");
    CHECK(joined(exec->target.as_user) == "--user 1:2 --privileged");
    CHECK(exec->target.name == "box");
    CHECK(exec->target.mark == "M");
    CHECK(mark_line(words("docker run --rm -v /a:/b img"), "box", "M")->target.removes);
    CHECK_FALSE(mark_line(words("docker run -v --rm img"), "box", "M")->target.removes);
    CHECK_FALSE(mark_line(words("docker run --rm=false img"), "box", "M")->target.removes);
    CHECK_FALSE(mark_line(words("docker run img --rm"), "box", "M")->target.removes);
}

TEST_CASE("what cannot be seen through, or would not hold, is refused and says why") {
    const auto refuses = [](const std::string& line, const std::string& why) {
        CAPTURE(line);
        const auto answer = marked(line);
        CHECK(answer.starts_with("refused: --container: "));
        CHECK(answer.find(why) != std::string::npos);
    };
    refuses("sudo docker exec box true", "--cleanup");
    refuses("sh -c docker", "--cleanup");
    refuses("docker compose run box", "--cleanup");
    refuses("docker ps", "neither run nor exec");
    refuses("docker", "neither run nor exec");
    refuses("docker -H", "neither run nor exec");
    refuses("docker exec", "not in 'box'");
    refuses("docker exec other true", "'other'");
    refuses("docker exec -u box", "not in 'box'");
    refuses("docker exec -d box true", "--detach");
    refuses("docker exec -itd box true", "--detach");
    refuses("docker exec --env SANDBOX_LOCK_EXEC=x box true", "SANDBOX_LOCK_EXEC");
    refuses("docker run --detach img", "--detach");
    refuses("docker run -d img", "--detach");
    refuses("docker run --name other img", "'other'");
    refuses("docker run --rm", "no image");
}

TEST_CASE("a container's name is no option and no path") {
    for (const char* good : {"box", "Box_1.a-b", "0123456789ab"})
        CHECK(container::is_container_name(good));
    for (const char* bad : {"", "-f", "a b", "a/b", "a=b", "a\n", "a{b}", "^a$"})
        CHECK_FALSE(container::is_container_name(bad));
}
