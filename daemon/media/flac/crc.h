// The CRCs of FLAC (RFC 9639, 9.1.8 and 9.3), as tables. Constant data; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spdld::flac {

// A CRC's step over each byte, from the highest bit on: tables[k] is for a byte with k bytes behind it.
template <typename Crc, unsigned kPolynomial, size_t kTables>
constexpr auto make_crc_tables() {
  constexpr unsigned kBits = 8 * sizeof(Crc);
  std::array<std::array<Crc, 256>, kTables> tables{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << (kBits - 8);
    for (size_t k = 0; k < kTables; ++k) {
      for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc >> (kBits - 1) & 1) != 0 ? kPolynomial : 0);
      tables[k][i] = static_cast<Crc>(crc);
      crc = tables[k][i];
    }
  }
  return tables;
}

}  // namespace spdld::flac
