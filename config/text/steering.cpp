#include "config/text/steering.h"

#include <array>
#include <cstdio>

namespace spdld::config {
namespace {

constexpr unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Of a character of `bytes` bytes, two or three.
unsigned code_of(std::string_view text, size_t bytes) {
  const unsigned first = byte_at(text, 0), second = byte_at(text, 1) & 0x3F;
  return bytes == 2 ? (first & 0x1F) << 6 | second : (first & 0x0F) << 12 | second << 6 | (byte_at(text, 2) & 0x3F);
}

}  // namespace

size_t steering_bytes(std::string_view text) {
  const unsigned char first = byte_at(text, 0), second = byte_at(text, 1), third = byte_at(text, 2);
  if (text.empty()) return 0;
  if (first < 0x20 || first == 0x7F) return 1;
  if (first == 0xC2 && second >= 0x80 && second < 0xA0) return 2;
  if (first == 0xD8 && second == 0x9C) return 2;
  if (first != 0xE2) return 0;
  if (second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE))) return 3;
  return second == 0x81 && third >= 0xA6 && third <= 0xA9 ? 3 : 0;
}

std::string steady_json(std::string json) {
  if (json.find_first_of("\x7F\xC2\xD8\xE2") == std::string::npos) return json;
  std::string steady;
  steady.reserve(json.size() + 16);
  for (std::string_view rest = json; !rest.empty();) {
    const size_t bytes = steering_bytes(rest);
    if (bytes == 0 || static_cast<unsigned char>(rest.front()) < 0x20) {  // JSON has those between its values alone
      steady += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    std::array<char, 8> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\u%04x", bytes == 1 ? 0x7Fu : code_of(rest, bytes));
    steady += escaped.data();
    rest.remove_prefix(bytes);
  }
  return steady;
}

}  // namespace spdld::config
