#include "daemon/base/formats/base64.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spdld {
namespace {

constexpr uint8_t kBlank = 64, kPad = 65, kNone = 66;

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<uint8_t, 256> kLetters = [] {
  std::array<uint8_t, 256> table{};
  table.fill(kNone);
  for (size_t i = 0; i < kAlphabet.size(); ++i) table[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  table['-'] = 62;
  table['_'] = 63;
  table['='] = kPad;
  for (const char blank : {' ', '\t', '\r', '\n'}) table[static_cast<uint8_t>(blank)] = kBlank;
  return table;
}();

}  // namespace

std::optional<uint64_t> read_base64(std::span<const uint8_t> text, uint8_t* to) {
  const uint8_t* const begin = to;
  uint32_t bits = 0;
  unsigned letters = 0, pads = 0;  // of the group
  for (const uint8_t c : text) {
    const uint8_t value = kLetters[c];
    if (value == kBlank) continue;
    if (value == kPad) {
      ++pads;
      continue;
    }
    if (value == kNone || pads > 0) return std::nullopt;
    bits = bits << 6 | value;
    if (++letters < 4) continue;
    *to++ = static_cast<uint8_t>(bits >> 16);
    *to++ = static_cast<uint8_t>(bits >> 8);
    *to++ = static_cast<uint8_t>(bits);
    bits = letters = 0;
  }
  if (letters == 1 || (pads > 0 && letters + pads != 4)) return std::nullopt;
  if (letters >= 2) *to++ = static_cast<uint8_t>(bits >> (letters == 2 ? 4 : 10));
  if (letters == 3) *to++ = static_cast<uint8_t>(bits >> 2);
  return static_cast<uint64_t>(to - begin);
}

std::string written_base64(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; k++) bits = bits << 8 | (k < count ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; k++) text += k <= count ? kAlphabet[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace spdld
