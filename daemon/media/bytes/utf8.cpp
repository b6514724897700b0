#include "daemon/media/bytes/utf8.h"

#include <cstring>

namespace spdld::bytes {
namespace {

bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// The bytes of the character at the front; 0: there is none. RFC 3629, section 4, has the table.
size_t character_bytes(std::span<const uint8_t> bytes) {
  const uint8_t first = bytes[0];
  if (first < 0x80) return 1;
  const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < count) return 0;
  for (size_t i = 1; i < count; ++i)
    if (!is_continuation(bytes[i])) return 0;
  const uint8_t second = bytes[1];
  const bool is_too_long = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second > 0x9F;
  const bool is_beyond = first == 0xF4 && second > 0x8F;
  return is_too_long || is_surrogate || is_beyond ? 0 : count;
}

}  // namespace

size_t utf8_bytes(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    uint64_t eight = 0;
    if (bytes.size() - at >= sizeof eight) {  // most texts are ASCII, which needs no look at single bytes
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t count = character_bytes(bytes.subspan(at));
    if (count == 0) break;
    at += count;
  }
  return at;
}

size_t whole_characters(std::span<const uint8_t> text, size_t bytes_max) {
  if (bytes_max >= text.size()) return text.size();
  while (bytes_max > 0 && is_continuation(text[bytes_max])) --bytes_max;
  return bytes_max;
}

}  // namespace spdld::bytes
