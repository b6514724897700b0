// Checks the bytes of a whole body against the checksums in the head of the reply, where there are some: CRC-32C of
// S3 (x-amz-checksum-crc32c), and MD5 (Content-MD5, RFC 1864). One thread.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "daemon/store/http/head.h"

namespace spdld::store::http {

class BodyCheck {
 public:
  BodyCheck() = default;  // checks nothing
  explicit BodyCheck(const Head& head);

  void take(std::span<const uint8_t> bytes);
  // Whether all that was taken has the checksums that the head tells. To be called once, at the end.
  bool holds();

 private:
  struct FreeDigest {
    void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
  };
  using Md5 = std::array<uint8_t, 16>;

  std::optional<uint32_t> wanted_crc_;
  uint32_t crc_ = 0;
  Md5 wanted_md5_{};
  std::unique_ptr<EVP_MD_CTX, FreeDigest> md5_;  // null: there is none to check
};

}  // namespace spdld::store::http
