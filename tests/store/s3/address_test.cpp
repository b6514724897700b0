#include "daemon/store/s3/address.h"

#include <catch2/catch.hpp>

namespace spdld::store::address_test {
namespace {

using s3::BucketAddress;
using s3::Place;

BucketAddress address_of(const Place& place) {
  auto address = BucketAddress::make(place);
  INFO((address ? "" : address.error().message));
  REQUIRE(address);
  return *address;
}

}  // namespace

TEST_CASE("a bucket is in the host's name, at AWS's endpoint of the region") {
  const auto address = address_of({"data", "", "eu-west-1"});
  CHECK(address.host() == "data.s3.eu-west-1.amazonaws.com");
  CHECK(address.path("a b/c.tar") == "/a b/c.tar");
  CHECK(address.path("") == "/");
  CHECK(address.url("a b/../c+%.tar") == "https://data.s3.eu-west-1.amazonaws.com/a%20b/../c%2B%25.tar");
  CHECK(address.url("/x//y") == "https://data.s3.eu-west-1.amazonaws.com//x//y");
  const std::vector<s3::NamedValue> query = {{"list-type", "2"}, {"prefix", "a/b c&"}};
  CHECK(address.url("", query) == "https://data.s3.eu-west-1.amazonaws.com/?list-type=2&prefix=a%2Fb%20c%26");
  CHECK(address_of({"data", "", "cn-north-1"}).host() == "data.s3.cn-north-1.amazonaws.com.cn");
}

TEST_CASE("a bucket is in the path where that is chosen, or where no host's name can hold it") {
  const auto chosen = address_of({"data", "https://store.example.com:9000", "us-east-1", true});
  CHECK(chosen.is_path_style());
  CHECK(chosen.host() == "store.example.com:9000");
  CHECK(chosen.path("k") == "/data/k");
  CHECK(chosen.path("") == "/data");
  CHECK(chosen.url("k/é") == "https://store.example.com:9000/data/k/%C3%A9");
  for (const Place& place :
       {Place{"my.data", "", "us-east-1"}, Place{"my_data", "", "us-east-1"},
        Place{"Data", "http://store.example.com", "us-east-1"}, Place{"data", "http://127.0.0.1:9000", "us-east-1"},
        Place{"data", "http://[::1]:9000", "us-east-1"}, Place{"data", "http://localhost:9000", "us-east-1"}}) {
    CAPTURE(place.bucket, place.endpoint);
    CHECK(address_of(place).is_path_style());
  }
  CHECK_FALSE(address_of({"my.data", "http://store.example.com", "us-east-1"}).is_path_style());
  CHECK(address_of({"data", "http://[::1]:9000", "us-east-1"}).url("k") == "http://[::1]:9000/data/k");
  CHECK(address_of({"data", "http://127.0.0.1:80/", "us-east-1"}).host() == "127.0.0.1");
}

TEST_CASE("names of buckets and regions may be as short and as long as they may") {
  const std::string longest(63, 'a');
  CHECK(address_of({"abc", "", "e"}).host() == "abc.s3.e.amazonaws.com");
  CHECK(address_of({longest, "", longest}).host() == longest + ".s3." + longest + ".amazonaws.com");
}

TEST_CASE("a wrong bucket, region or endpoint is refused with a sentence") {
  const std::string long_name(64, 'a');
  for (const Place& place :
       {Place{"", "", "us-east-1"}, Place{"ab", "", "us-east-1"}, Place{long_name, "", "us-east-1"},
        Place{"a/b", "", "us-east-1"}, Place{"-abc", "", "us-east-1"}, Place{"abc.", "", "us-east-1"},
        Place{"a..b", "", "us-east-1"}, Place{"_ab", "", "us-east-1"}, Place{"a\nb", "", "us-east-1"},
        Place{"a@evil", "", "us-east-1"}, Place{"abc", "", ""}, Place{"abc", "", "us.east"},
        Place{"abc", "", long_name}, Place{"abc", "", "x@evil.com/"}, Place{"abc", "store.example.com", "us-east-1"},
        Place{"abc", "ftp://store.example.com", "us-east-1"},
        Place{"abc", "https://user:pw@store.example.com", "us-east-1"},
        Place{"abc", "https://store.example.com/s3", "us-east-1"},
        Place{"abc", "https://store.example.com?x", "us-east-1"}}) {
    CAPTURE(place.bucket, place.endpoint, place.region);
    const auto address = BucketAddress::make(place);
    REQUIRE_FALSE(address);
    CHECK(address.error().trouble == Trouble::kUsage);
    CHECK(address.error().message.ends_with("."));
    CHECK(address.error().message.find('\n') == std::string::npos);
  }
}

}  // namespace spdld::store::address_test
