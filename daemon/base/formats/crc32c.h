// CRC-32C (Castagnoli; RFC 3720, appendix B.4), as object stores and TFRecord files have it. Any thread.
#pragma once

#include <cstdint>
#include <span>

namespace spdld {

// The checksum of `bytes`, or of what `before` is the checksum of, followed by `bytes`.
uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t before = 0);

}  // namespace spdld
