// Base64 as it is written, by the examples of RFC 4648, section 10; reading is tested where tables are read.
#include "daemon/base/formats/base64.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

namespace spdld::base64_test {
namespace {

std::string written(std::string_view text) {
  return written_base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

TEST_CASE("base64 is written as the RFC has it", "[base]") {
  CHECK(written("") == "");
  CHECK(written("f") == "Zg==");
  CHECK(written("fo") == "Zm8=");
  CHECK(written("foo") == "Zm9v");
  CHECK(written("foob") == "Zm9vYg==");
  CHECK(written("fooba") == "Zm9vYmE=");
  CHECK(written("foobar") == "Zm9vYmFy");
}

TEST_CASE("all bytes come back from base64", "[base]") {
  std::vector<uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  const std::string text = written_base64(bytes);
  std::vector<uint8_t> back(base64_bytes_max(text.size()));
  const auto count = read_base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, back.data());
  REQUIRE(count == bytes.size());
  back.resize(*count);
  CHECK(back == bytes);
}

}  // namespace spdld::base64_test
