// How a PNG is read so that the wanted pixels can be made of what libspng gives: libspng can't give every format of
// every kind of PNG. Pure functions; any thread.
#pragma once

#include <spng.h>

#include <cstddef>
#include <cstdint>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/pixels.h"
#include "daemon/media/image/codecs/png/chunks.h"

namespace spdld::image {

struct PngReading {
  spng_format format = SPNG_FMT_RGB8;  // of libspng's rows
  PixelFormat pixels;                  // of libspng's rows, where they are not packed
  int packed_bits = 0;                 // 1, 2 or 4: the bits of a value, where a byte has several values; else 0
  bool has_transparency = false;       // tRNS becomes alpha

  size_t row_bytes(uint32_t width) const;
  // libspng's rows are the wanted ones.
  bool gives(const Pixels& wanted) const;
  // Turns a row of `width` pixels, as libspng gives it, into wanted pixels.
  void convert(const uint8_t* in, const Pixels& wanted, uint8_t* out, uint32_t width) const;
};
PngReading reading_of(const PngHeader& header, const Pixels& wanted);

// kContent: the picture has no values that can be taken as they are stored, or values of more bits than wanted.
Status check_stored(const PngHeader& header, int bits);

}  // namespace spdld::image
