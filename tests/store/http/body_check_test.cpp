#include "daemon/store/http/body_check.h"

#include <catch2/catch.hpp>
#include <string_view>

namespace spdld::body_check_test {

using store::http::BodyCheck;
using store::http::Head;

namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool holds(const Head& head, std::string_view first, std::string_view rest = {}) {
  BodyCheck check(head);
  check.take(bytes_of(first));
  check.take(bytes_of(rest));
  return check.holds();
}

}  // namespace

TEST_CASE("a body has the CRC-32C that its head tells, or not") {
  Head head;
  head.crc32c = "4waSgw==";  // of "123456789": 0xE3069283, RFC 3720's check value
  CHECK(holds(head, "123456789"));
  CHECK(holds(head, "1234", "56789"));
  CHECK_FALSE(holds(head, "123456788"));
  CHECK_FALSE(holds(head, "12345678"));
}

TEST_CASE("a body has the MD5 that its head tells, or not") {
  Head head;
  head.content_md5 = "kAFQmDzST7DWlj99KOF/cg==";  // of "abc": RFC 1321, section A.5
  CHECK(holds(head, "abc"));
  CHECK(holds(head, "a", "bc"));
  CHECK_FALSE(holds(head, "abd"));
  CHECK_FALSE(holds(head, ""));
}

TEST_CASE("both checksums must hold") {
  Head head;
  head.crc32c = "4waSgw==";
  head.content_md5 = "kAFQmDzST7DWlj99KOF/cg==";
  CHECK_FALSE(holds(head, "123456789"));
  CHECK_FALSE(holds(head, "abc"));
}

TEST_CASE("what is no checksum is not checked") {
  for (const char* text : {"", "4waSgw=", "4waSgw", "4waS?w==", "4waSgwaSgw==", "================"}) {
    Head head;
    head.crc32c = head.content_md5 = text;
    CHECK(holds(head, "anything"));
  }
}

}  // namespace spdld::body_check_test
