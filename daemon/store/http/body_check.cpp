#include "daemon/store/http/body_check.h"

#include <string_view>

#include "daemon/base/crc32c.h"

namespace spdld::store::http {
namespace {

// Four bytes, highest first, in base64 (RFC 4648, section 4): eight characters that end in "==".
std::optional<uint32_t> four_bytes(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() != 8 || !text.ends_with("==")) return {};
  uint64_t bits = 0;
  for (const char c : text.substr(0, 6)) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return {};
    bits = bits << 6 | digit;
  }
  return static_cast<uint32_t>(bits >> 4);  // 36 bits, of which 32 count
}

}  // namespace

BodyCheck::BodyCheck(const Head& head) : wanted_(four_bytes(head.crc32c)) {}

void BodyCheck::take(std::span<const uint8_t> bytes) {
  if (wanted_) crc_ = crc32c(bytes, crc_);
}

}  // namespace spdld::store::http
