#include "config/text/remote_uri.h"

#include <catch2/catch.hpp>

#include "tests/config/expect.h"

namespace spdld::config::remote_uri_test {
namespace {

using Catch::Contains;

Loaded<DaemonSettings> load_store(const std::string& lines) {
  return load_daemon_toml("[[data.stores]]\n" + lines, "spdld.toml");
}

}  // namespace

TEST_CASE("a remote uri begins with a scheme in lower case and two slashes", "[config]") {
  for (const char* uri : {"s3://bucket", "http://host/a", "https://host"}) CHECK(is_remote(uri));
  for (const char* uri : {"", "s3:/bucket", "S3://bucket", "ftp://host", "file:///a", "/s3://a", " s3://a", "s3a://b"})
    CHECK_FALSE(is_remote(uri));
}

TEST_CASE("a remote uri without a fault is taken apart", "[config]") {
  struct Case {
    std::string uri, scheme, authority, object;
  };
  for (const Case& one :
       {Case{"s3://bucket", "s3", "bucket", ""}, Case{"s3://bucket/", "s3", "bucket", ""},
        Case{"s3://bucket//a", "s3", "bucket", "/a"}, Case{"s3://bucket/a b/../c?#%", "s3", "bucket", "a b/../c?#%"},
        Case{"s3://my_bucket.x-1/a", "s3", "my_bucket.x-1", "a"},
        Case{"https://data.example.org:8080/a%20b.tar", "https", "data.example.org:8080", "a%20b.tar"},
        Case{"http://[::1]:80/...", "http", "[::1]:80", "..."},
        Case{"http://host/a..b/.c", "http", "host", "a..b/.c"}}) {
    INFO(one.uri);
    CHECK(remote_uri_fault(one.uri).empty());
    const RemoteUri parts = split_remote_uri(one.uri);
    CHECK(parts.scheme == one.scheme);
    CHECK(parts.authority == one.authority);
    CHECK(parts.object == one.object);
  }
}

TEST_CASE("a remote uri that can't be asked for has a fault", "[config]") {
  struct Case {
    std::string uri, fragment;
  };
  const std::string step = "\".\" or \"..\" in its path", control = "control character", bucket = "no bucket's name";
  for (const Case& one : {
           Case{"s3://", bucket},
           Case{"s3:///a", bucket},
           Case{"s3://ab/a", bucket},
           Case{"s3://" + std::string(64, 'a'), bucket},
           Case{"s3://-bucket", bucket},
           Case{"s3://buck..et", bucket},
           Case{"s3://buck*t/a", bucket},
           Case{"s3://bücket", bucket},
           Case{"s3://key:secret@bucket/a", "before the @"},
           Case{"https://user@host/a", "before the @"},
           Case{"https://", "no server's name"},
           Case{"https:///a", "no server's name"},
           Case{"http://ho st/a", "no server's name"},
           Case{"http://host%2f/a", "no server's name"},
           Case{"http://host\\a", "no server's name"},
           Case{"http://host?a", "no server's name"},
           Case{"http://host#a", "no server's name"},
           Case{"https://host/a?b", "a query"},
           Case{"https://host/a#b", "writes as %XX"},
           Case{"https://host/a b", "writes as %XX"},
           Case{"https://host/a\\..\\b", "writes as %XX"},
           Case{"https://host/..", step},
           Case{"https://host/.", step},
           Case{"https://host/a/../b", step},
           Case{"https://host/a/..", step},
           Case{"https://host/a/./b", step},
           Case{"https://host/a/%2e%2E/b", step},
           Case{"https://host/a/.%2e", step},
           Case{"https://host/a/..%2fb", step},
           Case{"https://host/a%2F../b", step},
           Case{"https://host/a%2f%2e%2e%2fb", step},
           Case{"https://host/a%5c..%5Cb", step},
           Case{"https://host/a\nb", control},
           Case{std::string("s3://bucket/a\0b", 15), control},
           Case{"s3://bucket/\x7f", control},
           Case{"s3://bucket/\xc2\x9b", control},  // CSI, as a terminal takes it
           Case{"s3://bucket/" + std::string(4096, 'a'), "more than 4096 bytes"},
       }) {
    INFO(one.uri);
    CHECK_THAT(remote_uri_fault(one.uri), Contains(one.fragment));
  }
}

TEST_CASE("a uri lies below another one where whole names agree", "[config]") {
  for (const auto& [uri, beginning] :
       std::vector<std::pair<std::string, std::string>>{{"s3://a/b/c", "s3://a/b"},
                                                        {"s3://a/b/c", "s3://a/b/"},
                                                        {"s3://a/b/c", "s3://a/b//"},
                                                        {"s3://a/b", "s3://a/b"},
                                                        {"s3://a/b", "s3://a/b/"},
                                                        {"s3://a", "s3://a"},
                                                        {"s3://a/", "s3://a"},
                                                        {"s3://a/b", "s3://"},
                                                        {"http://h:80/a", "http://h:80"}}) {
    INFO(uri << " below " << beginning);
    CHECK(lies_below(uri, beginning));
  }
  for (const auto& [uri, beginning] : std::vector<std::pair<std::string, std::string>>{{"s3://a/bc", "s3://a/b"},
                                                                                       {"s3://ab", "s3://a"},
                                                                                       {"s3://a", "s3://a/b"},
                                                                                       {"http://h:8080/a", "http://h"},
                                                                                       {"http://h.evil/a", "http://h"},
                                                                                       {"https://h/a", "http://h"},
                                                                                       {"s3://a/b", "s3://A"},
                                                                                       {"http://h/a", "s3://"}}) {
    INFO(uri << " not below " << beginning);
    CHECK_FALSE(lies_below(uri, beginning));
  }
}

TEST_CASE("a store of the daemon's file has all its keys", "[config]") {
  const auto loaded = load_store(R"(uri = "s3://bucket/train"
users = ["alice"]
groups = ["vision"]
endpoint = "https://s3.example.org:9000"
region = "eu-west-1"
path_style = true
credentials = "profile:train"
ca_file = "/etc/ca.pem"
proxy = "http://proxy:3128"
connections_max = 8
requests_per_s_max = 100
bytes_per_s_max = "10 MiB"
connect_ms_max = 1
attempt_ms_max = 2
total_ms_max = 3
floor_bytes_per_s = 4
attempts_max = 5
hedge_percent = 2.5
link_local = true
[[data.stores]]
uri = "https://host/a"
follows_redirects = true
[[data.stores]]
uri = "s3://"
)");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  StoreSettings first{"s3://bucket/train", {{"alice"}, {"vision"}}, "https://s3.example.org:9000", "eu-west-1"};
  first.path_style = first.link_local = true;
  first.credentials = "profile:train";
  first.ca_file = "/etc/ca.pem";
  first.proxy = "http://proxy:3128";
  first.limits.connections_max = 8;
  first.limits.requests_per_s_max = 100;
  first.limits.bytes_per_s_max = 10 << 20;
  first.limits.connect_ms_max = 1, first.limits.attempt_ms_max = 2, first.limits.total_ms_max = 3;
  first.limits.floor_bytes_per_s = 4;
  first.limits.attempts_max = 5;
  first.limits.hedge_percent = 2.5;
  StoreSettings second{"https://host/a"};
  second.follows_redirects = true;
  CHECK(loaded.value->data_stores == std::vector<StoreSettings>{first, second, StoreSettings{"s3://"}});
  CHECK(load_daemon_toml("data.stores = []", "spdld.toml").value->data_stores.empty());
}

TEST_CASE("one error in a store is found at its key and line", "[config]") {
  struct Case {
    std::string lines;
    Expected expected;
  };
  const std::string s3 = "uri = \"s3://bucket\"\n", web = "uri = \"https://host\"\n";
  for (const Case& one : {
           Case{"", {1, "data.stores[0].uri", "is missing"}},
           Case{"uri = \"/data\"", {2, "data.stores[0].uri", "must begin with s3://, http:// or https://"}},
           Case{"uri = \"https://\"", {2, "data.stores[0].uri", "no server's name"}},
           Case{"uri = \"s3://a\"", {2, "data.stores[0].uri", "no bucket's name"}},
           Case{"uri = \"https://me:pw@host\"", {2, "data.stores[0].uri", "before the @"}},
           Case{"uri = \"s3://\"\nusers = [\"*\"]", {2, "data.stores[0].uri", "must not be \"s3://\" beside users"}},
           Case{s3 + "user = [\"a\"]", {3, "data.stores[0].user", "did you mean \"users\"?"}},
           Case{s3 + "groups = [\"*\"]", {3, "data.stores[0].groups", "users = [\"*\"]"}},
           Case{s3 + "endpoint = \"host\"", {3, "data.stores[0].endpoint", "must be http:// or https:// and a server"}},
           Case{s3 + "endpoint = \"https://host/\"", {3, "data.stores[0].endpoint", "without a path"}},
           Case{s3 + "endpoint = \"https://host/a\"", {3, "data.stores[0].endpoint", "without a path"}},
           Case{s3 + "endpoint = \"https://me@host\"", {3, "data.stores[0].endpoint", "without a path"}},
           Case{s3 + "credentials = \"AKIA\"", {3, "data.stores[0].credentials", "must be auto, anonymous"}},
           Case{s3 + "credentials = \"profile:\"", {3, "data.stores[0].credentials", "profile:NAME"}},
           Case{s3 + "follows_redirects = true", {3, "data.stores[0].follows_redirects", "begins with http://"}},
           Case{web + "region = \"x\"", {3, "data.stores[0].region", "begins with s3://"}},
           Case{web + "path_style = true", {3, "data.stores[0].path_style", "begins with s3://"}},
           Case{web + "credentials = \"auto\"", {3, "data.stores[0].credentials", "begins with s3://"}},
           Case{web + "endpoint = \"https://a\"", {3, "data.stores[0].endpoint", "begins with s3://"}},
           Case{web + "ca_file = \"ca.pem\"", {3, "data.stores[0].ca_file", "must be an absolute path"}},
           Case{web + "proxy = \"proxy:3128\"",
                {3, "data.stores[0].proxy", "must be http:// or https:// and a server"}},
           Case{web + "proxy = \"http://proxy\"\nfollows_redirects = true",
                {4, "data.stores[0].follows_redirects", "must not be true beside a proxy"}},
           Case{web + "connections_max = 0", {3, "data.stores[0].connections_max", "from 1 to 1024"}},
           Case{web + "attempts_max = 101", {3, "data.stores[0].attempts_max", "from 1 to 100"}},
           Case{web + "total_ms_max = 0", {3, "data.stores[0].total_ms_max", "from 1"}},
           Case{web + "bytes_per_s_max = \"fast\"", {3, "data.stores[0].bytes_per_s_max", "a size"}},
           Case{web + "hedge_percent = 51", {3, "data.stores[0].hedge_percent", "0 to 50"}},
           Case{web + "link_local = 1", {3, "data.stores[0].link_local", "must be true or false"}},
       }) {
    INFO(one.lines);
    expect_complaints(load_store(one.lines), {one.expected});
  }
  expect_complaints(load_daemon_toml("[data]\nstores = \"s3://bucket\"", "spdld.toml"),
                    {{2, "data.stores", "each written [[data.stores]]"}});
}

TEST_CASE("a listing that was kept is checked as a whole, or by a sample", "[config]") {
  const auto with = [](const std::string& value) {
    return load_with_line(5, "uri = \"s3://bucket/train\"\ncheck_listing = " + value);
  };
  REQUIRE(with("\"whole\""));
  CHECK_FALSE(with("\"whole\"").value->sources[0].samples_listing);
  CHECK_FALSE(load_with_line(5, "uri = \"s3://bucket/train\"").value->sources[0].samples_listing);
  const auto sampled = with("\"sample\"");
  REQUIRE(sampled);
  CHECK(sampled.value->sources[0].samples_listing);
  CHECK(load_pipeline_json(full_json(*sampled.value), "again").value->sources[0].samples_listing);
  expect_complaints(with("\"some\""), {{6, "source.check_listing", "\"sample\", not \"some\""}});
}

}  // namespace spdld::config::remote_uri_test
