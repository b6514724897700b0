#include "daemon/base/formats/crc32c.h"

#include <isa-l.h>

#include <algorithm>
#include <climits>

namespace spdld {

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t before) {
  uint32_t state = ~before;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<size_t>(bytes.size(), INT_MAX));
    // The library takes a pointer to what it only reads.
    state = crc32_iscsi(const_cast<unsigned char*>(part.data()), static_cast<int>(part.size()), state);
    bytes = bytes.subspan(part.size());
  }
  return ~state;
}

}  // namespace spdld
