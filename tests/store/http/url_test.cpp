#include "daemon/store/http/url.h"

#include <catch2/catch.hpp>

namespace spdld::store::url_test {

using http::read_url;

TEST_CASE("a URL is taken apart as it is asked") {
  const auto url = read_url("HTTPS://S3.Example.com/a/../b%20c?x=1", "it");
  REQUIRE(url);
  CHECK(url->is_https());
  CHECK(url->host == "s3.example.com");
  CHECK(url->port == 443);
  CHECK(url->path == "/a/../b%20c");
  CHECK(url->has_query);
  CHECK(http::host_header(*url) == "s3.example.com");
  CHECK(http::host_header(*read_url("http://s3.example.com:80", "it")) == "s3.example.com");
  CHECK(http::host_header(*read_url("https://s3.example.com:80/", "it")) == "s3.example.com:80");
  CHECK(http::host_header(*read_url("http://[fd00:EC2::254]:8080/", "it")) == "[fd00:ec2::254]:8080");
}

TEST_CASE("what is no http URL is refused with a sentence, and never shown") {
  for (const char* text :
       {"", "example.com", "/path", "ftp://example.com/", "file:///etc/passwd", "http://", "https://:80/",
        "http://exam ple.com/", "http://example.com/a\nb", "http://example.com:0/", "http://user@host/",
        "http://user:hunter2@host/", "http://[::1/", "http://host:99999/", "gopher://hunter2/"}) {
    CAPTURE(text);
    const auto url = read_url(text, "AWS_X");
    REQUIRE_FALSE(url);
    CHECK(url.error().trouble == Trouble::kUsage);
    CHECK(url.error().message.starts_with("AWS_X "));
    CHECK(url.error().message.ends_with("."));
    CHECK(url.error().message.find("hunter2") == std::string::npos);
  }
  CHECK_FALSE(read_url("http://" + std::string(http::kUrlBytesMax, 'a'), "it"));
}

TEST_CASE("addresses at hand are told from those that a proxy may be asked for") {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost", "169.254.169.254", "169.254.170.2", "fe80::1",
                           "febf::1", "fd00:ec2::254", "fd00:ec2::23", "168.63.129.16", "192.0.0.192",
                           "100.100.100.200", "::ffff:169.254.169.254", "64:ff9b::168.63.129.16"}) {
    CAPTURE(host);
    CHECK(http::is_at_hand(host));
  }
  for (const char* host : {"128.0.0.1", "169.253.1.1", "10.0.0.1", "fec0::1", "fd00:ec3::1", "example.com",
                           "localhost.example.com", "127.0.0.1.example.com"}) {
    CAPTURE(host);
    CHECK_FALSE(http::is_at_hand(host));
  }
  CHECK_FALSE(http::is_loopback("169.254.169.254"));
  // Numbers in other forms are addresses, too.
  CHECK(http::is_at_hand(read_url("http://0x7f.1/", "it")->host));
  CHECK(http::is_at_hand(read_url("http://2852039166/", "it")->host));         // 169.254.169.254
  CHECK(http::is_at_hand(read_url("http://0250.077.0x81.020/", "it")->host));  // 168.63.129.16
  CHECK(http::is_at_hand(read_url("http://192.192/", "it")->host));            // 192.0.0.192
}

}  // namespace spdld::store::url_test
