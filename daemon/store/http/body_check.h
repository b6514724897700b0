// Checks the bytes of a whole object against the checksum in the head of the reply, where there is one. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/store/http/head.h"

namespace spdld::store::http {

class BodyCheck {
 public:
  BodyCheck() = default;  // checks nothing
  explicit BodyCheck(const Head& head);

  void take(std::span<const uint8_t> bytes);
  // Whether all that was taken has the checksum that the head tells.
  bool holds() const { return !wanted_ || *wanted_ == crc_; }

 private:
  std::optional<uint32_t> wanted_;
  uint32_t crc_ = 0;
};

}  // namespace spdld::store::http
