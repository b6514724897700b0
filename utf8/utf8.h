// The rule of UTF-8, as RFC 3629 has it: no longer spelling than needed, no surrogates, nothing beyond U+10FFFF. And
// the control characters among its characters. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace spdld::utf8 {

inline unsigned byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }
// Whether the byte is one of a character's bytes behind the first one.
inline bool goes_on(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The bytes of the character at the front; 0: the bytes are no character. RFC 3629, section 4, has the table.
// Precondition: the text is not empty.
inline size_t character_bytes(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < count) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(count), goes_on)) return 0;
  const unsigned second = byte_at(text, 1);
  const bool is_too_long = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second > 0x9F;
  const bool is_beyond = first == 0xF4 && second > 0x8F;
  return is_too_long || is_surrogate || is_beyond ? 0 : count;
}

// How many bytes at the front are whole characters.
inline size_t sound_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (text.size() - at >= sizeof eight) {  // most texts are ASCII, which needs no look at single bytes
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t count = character_bytes(text.substr(at));
    if (count == 0) break;
    at += count;
  }
  return at;
}

inline bool is_utf8(std::string_view text) { return sound_bytes(text) == text.size(); }

// The most bytes, up to `bytes_max`, that end between two characters. Precondition: the text is UTF-8.
inline size_t whole_characters(std::string_view text, size_t bytes_max) {
  if (bytes_max >= text.size()) return text.size();
  while (bytes_max > 0 && goes_on(text[bytes_max])) --bytes_max;
  return bytes_max;
}

// Whether the character at the front, of `bytes` bytes, is one of the control characters U+0000 to U+001F and U+007F to
// U+009F.
inline bool is_control(std::string_view text, size_t bytes) {
  const unsigned first = byte_at(text, 0);
  if (bytes == 1) return first < 0x20 || first == 0x7F;
  return bytes == 2 && first == 0xC2 && byte_at(text, 1) < 0xA0;
}

// Whether the text, which need not be UTF-8, has a control character.
inline bool has_control(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes != 0 && is_control(text, bytes)) return true;
    text.remove_prefix(std::max<size_t>(1, bytes));
  }
  return false;
}

}  // namespace spdld::utf8
