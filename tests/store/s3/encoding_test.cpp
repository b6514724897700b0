#include "daemon/store/s3/encoding.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace spdld::store::encoding_test {

TEST_CASE("everything but the unreserved characters is encoded, and '/' where it is no path") {
  std::string out = "?";
  s3::append_encoded(out, "aZ09-._~ +%/&=é\x01\xff");
  CHECK(out == "?aZ09-._~%20%2B%25%2F%26%3D%C3%A9%01%FF");
  out.clear();
  s3::append_encoded_path(out, "/a//b/../ü?");
  CHECK(out == "/a//b/../%C3%BC%3F");
}

TEST_CASE("what was encoded is decoded, and wrong codes are told") {
  std::string text;
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  s3::append_encoded(text, all);
  const size_t size = s3::decode_in_place(text.data(), text.size());
  REQUIRE(size == 256);
  CHECK(text.substr(0, size) == all);
  text = "a+b%2b%2B";
  CHECK(text.substr(0, s3::decode_in_place(text.data(), text.size())) == "a b++");
  for (std::string wrong : {"%", "%2", "a%", "%g0", "%0g", "%%20"}) {
    CAPTURE(wrong);
    CHECK(s3::decode_in_place(wrong.data(), wrong.size()) == SIZE_MAX);
  }
}

}  // namespace spdld::store::encoding_test
