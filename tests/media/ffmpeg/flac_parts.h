// Parts of FLAC files that tests put together (RFC 9639).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spdld::test {

inline std::string big_endian(uint64_t number, int bytes) {
  std::string all;
  while (bytes > 0) all.push_back(static_cast<char>(number >> (8 * --bytes) & 0xFF));
  return all;
}

inline uint64_t crc_of(const std::string& bytes, uint64_t polynomial, int bits) {
  uint64_t crc = 0;
  for (const char byte : bytes) {
    crc ^= uint64_t{static_cast<uint8_t>(byte)} << (bits - 8);
    for (int i = 0; i < 8; ++i) crc = crc << 1 ^ ((crc >> (bits - 1) & 1) != 0 ? polynomial : 0);
    crc &= (uint64_t{1} << bits) - 1;
  }
  return crc;
}

inline std::string coded_number(uint64_t number) {
  if (number < 0x80) return big_endian(number, 1);
  int more = 1;
  while (number >> (6 * more + 6 - more) != 0) ++more;
  std::string all = big_endian((0xFF00u >> (more + 1) & 0xFF) | number >> (6 * more), 1);
  while (more > 0) all += big_endian(0x80 | (number >> (6 * --more) & 0x3F), 1);
  return all;
}

// Puts the right CRC to the frame's end.
inline void with_crc(std::string& frame) {
  frame.resize(frame.size() - 2);
  frame += big_endian(crc_of(frame, 0x8005, 16), 2);
}

inline std::string joined(const std::vector<std::string>& frames) {
  std::string all;
  for (const std::string& frame : frames) all += frame;
  return all;
}

inline std::string block_of(int type, const std::string& content) {
  return big_endian(static_cast<unsigned>(type), 1) + big_endian(content.size(), 3) + content;
}

}  // namespace spdld::test
