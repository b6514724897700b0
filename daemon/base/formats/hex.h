// Digits of hexadecimal numbers. Pure functions; any thread.
#pragma once

namespace spdld {

// The value of a digit in either case; -1: the sign is none.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace spdld
