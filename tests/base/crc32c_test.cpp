// CRC-32C: the values of RFC 3720, appendix B.4, and of the catalogue of CRCs.
#include "daemon/base/formats/crc32c.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace spdld::crc32c_test {

TEST_CASE("known checksums", "[base]") {
  const auto of = [](const std::vector<uint8_t>& bytes) { return crc32c(bytes); };
  CHECK(of({}) == 0);
  CHECK(of(std::vector<uint8_t>(32, 0)) == 0x8a9136aa);
  CHECK(of(std::vector<uint8_t>(32, 0xff)) == 0x62a8ab43);
  std::vector<uint8_t> rising(32), falling(32);
  for (uint8_t i = 0; i < 32; ++i) rising[i] = i, falling[i] = static_cast<uint8_t>(31 - i);
  CHECK(of(rising) == 0x46dd794e);
  CHECK(of(falling) == 0x113fdb5c);
  const std::string digits = "123456789";
  CHECK(of({digits.begin(), digits.end()}) == 0xe3069283);
}

TEST_CASE("a checksum goes on where another one ended", "[base]") {
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  const std::span<const uint8_t> all(bytes);
  for (const size_t cut : {0, 1, 7, 500, 1000}) CHECK(crc32c(all.subspan(cut), crc32c(all.first(cut))) == crc32c(all));
}

}  // namespace spdld::crc32c_test
