// Numbers as most file formats store them: the lowest byte comes first. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spdld {

// Of at most eight bytes.
inline uint64_t little_endian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

// Of `count` bytes from `at` on, at most four. Precondition: they are there.
inline uint32_t little_endian(std::span<const uint8_t> bytes, size_t at, size_t count) {
  return static_cast<uint32_t>(little_endian(bytes.subspan(at, count)));
}

}  // namespace spdld
