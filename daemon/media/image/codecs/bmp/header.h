// The header of a BMP: its layout and its palette. Source: BITMAPFILEHEADER, BITMAPCOREHEADER and BITMAPINFOHEADER to
// BITMAPV5HEADER in "Windows GDI" (Microsoft). Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "daemon/base/result.h"

namespace spdld::image {

// The bits of a pixel that are one of its colours.
struct BmpMask {
  uint32_t shift = 0, greatest = 0;  // greatest: after the shift; 0: the picture has no such colour

  // The pixel's value of this colour, from 0 to 255.
  uint8_t of(uint32_t pixel) const {
    if (greatest == 0) return 0;
    return static_cast<uint8_t>(uint64_t{pixel >> shift & greatest} * 255 / greatest);
  }
};

struct BmpHeader {
  uint32_t width = 0, height = 0;
  bool top_down = false;  // the first stored row is the uppermost one
  int bits = 0;           // of a pixel: 1, 4 and 8 with a palette, 16, 24 and 32 without
  bool run_length = false;
  std::array<BmpMask, 4> masks;                       // red, green, blue and alpha, of 16 and 32 bits
  std::array<std::array<uint8_t, 3>, 256> palette{};  // red, green and blue; entries behind the file's end are black
  std::span<const uint8_t> pixels;                    // all rows, or the coded bytes

  bool has_alpha() const { return masks[3].greatest != 0; }
  // Of a row that is not coded: rows begin at multiples of four bytes.
  uint64_t row_bytes() const { return (uint64_t{width} * static_cast<uint64_t>(bits) + 31) / 32 * 4; }
};

// kContent: bytes that are cut off, or a header that no BMP has. kUnsupported: another compression than run lengths.
Result<BmpHeader> bmp_header_of(std::span<const uint8_t> bmp);

inline constexpr char kBmpName[] = "a BMP";

}  // namespace spdld::image
