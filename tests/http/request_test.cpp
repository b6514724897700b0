// What of a request decides who gets which answer.
#include "daemon/http/request.h"

#include <catch2/catch.hpp>

namespace spdld::http::request_test {

TEST_CASE("a target is a path and decoded parameters", "[http]") {
  const auto plain = parse_target("/metrics");
  REQUIRE(plain);
  CHECK(plain->path == "/metrics");
  CHECK(plain->parameters.empty());
  const auto asked = parse_target("/api/errors?pipeline=a%20b%2Bc&from=3&empty=&bare");
  REQUIRE(asked);
  CHECK(asked->path == "/api/errors");
  CHECK(asked->parameter("pipeline") == "a b+c");
  CHECK(asked->parameter("from") == "3");
  CHECK(asked->parameters.contains("empty"));
  CHECK(asked->parameters.contains("bare"));
  CHECK(asked->parameter("nothing") == "");
  CHECK(parse_target("/x?a=b+c")->parameter("a") == "b c");
  CHECK(parse_target("/?")->parameters.empty());
  CHECK(parse_target("/x?a=%c3%A4")->parameter("a") == "\xc3\xa4");
}

TEST_CASE("what is no target is refused", "[http]") {
  for (const char* text : {"",
                           "x",
                           "http://127.0.0.1/metrics",
                           "*",
                           "/a b",
                           "/a%2e",
                           "/a\x01",
                           "/a#b",
                           "//%",
                           "/x?%",
                           "/x?a=%4",
                           "/x?a=%zz",
                           "/x?a=%00",
                           "/x?a=%0a",
                           "/x?a=%7f",
                           "/x?=b",
                           "/x?&",
                           "/x?a=1&a=2",
                           "/x?a=1&&b=2",
                           "/x?a=\n"}) {
    INFO(text);
    CHECK_FALSE(parse_target(text));
  }
  CHECK_FALSE(parse_target("/" + std::string(kTargetBytesMax, 'x')));
  CHECK(parse_target("/" + std::string(kTargetBytesMax - 1, 'x')));
  CHECK(parse_target("/x?a&b&c&d&e&f&g&h"));
  CHECK_FALSE(parse_target("/x?a&b&c&d&e&f&g&h&i"));
}

TEST_CASE("requests for the same have the same key, and others have not", "[http]") {
  const auto key = [](std::string_view target) { return parse_target(target)->key(); };
  CHECK(key("/x?a=1&b=2") == key("/x?b=2&a=%31"));
  CHECK(key("/x?a=1") != key("/x?a=2"));
  CHECK(key("/x?a=1") != key("/y?a=1"));
  CHECK(key("/x?a=1&b=2") != key("/x?a=1%26b%3D2"));
}

TEST_CASE("only hosts that are this machine are local", "[http]") {
  for (const char* host : {"localhost", "LocalHost:9464", "127.0.0.1", "127.0.0.1:80", "127.9.9.9:1", "[::1]",
                           "[::1]:9464", "localhost:"}) {
    INFO(host);
    CHECK(is_local_host(host));
  }
  for (const char* host : {"",
                           "example.org",
                           "localhost.example.org",
                           "127.0.0.1.example.org",
                           "10.0.0.1",
                           "[fe80::1]",
                           "::1",
                           "[::1",
                           "[::1]x",

                           "localhost:80a",
                           "localhost:800000",
                           "localhost:80:80",
                           "localhost:-1",
                           "[127.0.0.1]",
                           "[localhost]",
                           "127.1",
                           "2130706433",
                           "0.0.0.0",
                           "[::]",
                           "[::ffff:127.0.0.1]",
                           "localhost ",
                           "evil@localhost"}) {
    INFO(host);
    CHECK_FALSE(is_local_host(host));
  }
}

TEST_CASE("a host ends where it ends, and not at a zero byte", "[http]") {
  using namespace std::string_view_literals;
  CHECK_FALSE(is_local_host("127.0.0.1\0.example.org"sv));
  CHECK_FALSE(is_local_host("[::1\0x]:80"sv));
  CHECK_FALSE(is_local_host("localhost\0"sv));
}

TEST_CASE("a token stands behind Bearer", "[http]") {
  CHECK(bearer_token("Bearer abc") == "abc");
  CHECK(bearer_token("bearer   abc ") == "abc");
  CHECK(bearer_token("Basic abc") == "");
  CHECK(bearer_token("Bearer") == "");
  CHECK(bearer_token("") == "");
  CHECK(bearer_token("Bearerabc") == "");
}

TEST_CASE("secrets are the same or not, whatever their lengths", "[http]") {
  CHECK(is_same_secret("abc", "abc"));
  CHECK(is_same_secret("", ""));
  CHECK_FALSE(is_same_secret("abc", "abd"));
  CHECK_FALSE(is_same_secret("abc", "bbc"));
  CHECK_FALSE(is_same_secret("ab", "abc"));
  CHECK_FALSE(is_same_secret("abc", "ab"));
  CHECK_FALSE(is_same_secret("", "a"));
  CHECK_FALSE(is_same_secret(std::string_view("a\0", 2), "a"));
}

}  // namespace spdld::http::request_test
