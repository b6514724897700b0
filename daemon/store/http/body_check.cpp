#include "daemon/store/http/body_check.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "daemon/base/crc32c.h"

namespace spdld::store::http {
namespace {

// Exactly kBytes bytes in base64 (RFC 4648, section 4).
template <size_t kBytes>
std::optional<std::array<uint8_t, kBytes>> from_base64(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static constexpr size_t kPadding = (3 - kBytes % 3) % 3;
  if (text.size() != (kBytes + 2) / 3 * 4) return {};
  if (text.substr(text.size() - kPadding) != std::string_view("==").substr(0, kPadding)) return {};
  std::array<uint8_t, kBytes> bytes{};
  uint32_t bits = 0;
  size_t held = 0, made = 0;
  for (const char c : text.substr(0, text.size() - kPadding)) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return {};
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    if (made < kBytes) bytes[made++] = static_cast<uint8_t>(bits >> held);
  }
  return bytes;
}

}  // namespace

BodyCheck::BodyCheck(const Head& head) {
  if (const auto crc = from_base64<4>(head.crc32c)) {
    wanted_crc_ = 0;
    for (const uint8_t byte : *crc) *wanted_crc_ = *wanted_crc_ << 8 | byte;  // the highest first
  }
  if (const auto md5 = from_base64<16>(head.content_md5)) {
    wanted_md5_ = *md5;
    md5_.reset(EVP_MD_CTX_new());
    // A library without MD5, as a policy may ask for, checks nothing.
    if (md5_ && EVP_DigestInit_ex(md5_.get(), EVP_md5(), nullptr) != 1) md5_.reset();
  }
}

void BodyCheck::take(std::span<const uint8_t> bytes) {
  if (wanted_crc_) crc_ = crc32c(bytes, crc_);
  if (md5_ && EVP_DigestUpdate(md5_.get(), bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

bool BodyCheck::holds() {
  if (wanted_crc_ && *wanted_crc_ != crc_) return false;
  if (!md5_) return true;
  Md5 made{};
  return EVP_DigestFinal_ex(md5_.get(), made.data(), nullptr) == 1 && made == wanted_md5_;
}

}  // namespace spdld::store::http
