// Digits of hexadecimal numbers. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace spdld {

// The value of a digit in either case; -1: the sign is none.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Two digits, in lower case.
inline void append_hex(std::string& text, uint8_t byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

}  // namespace spdld
