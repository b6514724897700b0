#include "daemon/store/http/body_check.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "daemon/base/formats/base64.h"
#include "daemon/base/formats/crc32c.h"

namespace spdld::store::http {
namespace {

// Exactly kBytes bytes in base64, with its padding.
template <size_t kBytes>
std::optional<std::array<uint8_t, kBytes>> from_base64(std::string_view text) {
  if (text.size() != (kBytes + 2) / 3 * 4) return {};
  std::array<uint8_t, base64_bytes_max((kBytes + 2) / 3 * 4)> room{};
  if (read_base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, room.data()) != kBytes) return {};
  std::array<uint8_t, kBytes> bytes{};
  std::copy_n(room.begin(), kBytes, bytes.begin());
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
