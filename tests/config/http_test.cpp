// [http]: where the HTTP server may listen, and what the page needs.
#include "config/text/http_address.h"

#include "tests/config/expect.h"

namespace spdld::config::http_test {
namespace {

Loaded<DaemonSettings> load(const std::string& lines) { return load_daemon_toml("[http]\n" + lines, "spdld.toml"); }

}  // namespace

TEST_CASE("addresses of this machine are taken, and written as they are read", "[config]") {
  for (const std::string text : {"127.0.0.1:9464", "127.3.2.1:1", "[::1]:65535", "127.0.0.1:0", "unix:/run/s"}) {
    INFO(text);
    const auto [address, error] = parse_http_address(text);
    CHECK(error == "");
    REQUIRE(address);
    CHECK(address->text() == text);
    CHECK(address->is_unix() == text.starts_with("unix:"));
  }
  CHECK(*parse_http_address("[::1]:80").address == HttpAddress{.host = "::1", .port = 80});
  CHECK(*parse_http_address("unix:/a b").address == HttpAddress{.path = "/a b"});
}

TEST_CASE("any other place to listen is refused with a sentence", "[config]") {
  const auto refused = [](std::string_view text, std::string_view fragment) {
    INFO(text);
    const auto [address, error] = parse_http_address(text);
    CHECK_FALSE(address);
    CHECK_THAT(error, Catch::Contains(std::string(fragment)));
  };
  for (const char* open : {"0.0.0.0:9464", "[::]:9464", "10.0.0.1:9464", "192.168.1.1:80", "[fe80::1]:80",
                           "localhost:80", "example.org:80", ":9464", "[]:1", "::1:80", "[127.0.0.1]:80",
                           "128.0.0.1:80", "127.1:80", "[::ffff:127.0.0.1]:80", "127.0.0.1 :80"})
    refused(open, "an address of this machine alone");
  for (const char* shapeless :
       {"127.0.0.1", "9464", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:8a", "http://127.0.0.1", "x"})
    refused(shapeless, "must be \"127.0.0.1:PORT\"");
  refused(std::string_view("[::1\0x]:80", 10), "an address of this machine alone");
  refused("unix:", "absolute path");
  refused("unix:http.sock", "absolute path");
  refused("unix:/" + std::string(107, 'x'), "at most 107 bytes");
  CHECK(parse_http_address("unix:/" + std::string(106, 'x')).address);
}

TEST_CASE("each mistake in [http] is told with its line", "[config]") {
  expect_complaints(load("listen = \"0.0.0.0:9464\"\nsocket_mode = \"888\"\ntoken_file = \"token\"\nport = 3\n"),
                    {{2, "http.listen", "an address of this machine alone"},
                     {3, "http.socket_mode", "octal"},
                     {4, "http.token_file", "absolute path"},
                     {5, "http.port", "not a key that is known here"}});
  expect_complaints(load("listen = 9464\npage = \"yes\"\n"), {{2, "http.listen", "text"}, {3, "http.page", "true"}});
}

TEST_CASE("the page is for users who know the token, or who may connect to the Unix socket", "[config]") {
  expect_complaints(load("listen = \"127.0.0.1:9464\"\npage = true\n"), {{3, "http.page", "needs token_file"}});
  CHECK(load("listen = \"127.0.0.1:9464\"\npage = true\ntoken_file = \"/t\"\n"));
  CHECK(load("listen = \"unix:/s\"\npage = true\n"));
  CHECK(load("listen = \"127.0.0.1:9464\"\n"));
  CHECK(load("page = true\n"));  // nothing is served
}

}  // namespace spdld::config::http_test
