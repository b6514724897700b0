// The headers of a JPEG 2000, in boxes (JP2) or as a bare codestream, as far as they decide what decoding costs
// (ISO/IEC 15444-1, annexes A and I). OpenJPEG allocates for what headers claim, so that they are checked before.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/result.h"

namespace spdld::image {

inline constexpr char kJpeg2000Name[] = "a JPEG 2000";

struct Jpeg2000Head {
  bool has_boxes = false;
  uint32_t width = 0, height = 0;
  uint32_t tile_width = 0, tile_height = 0;  // at most the picture's
  uint64_t tiles = 0;
  int components = 0;                     // of the codestream, 1 to 4
  int channels = 0;                       // of the picture, 1 to 4: the palette's, or the components
  int bits = 0;                           // the most that a sample of a channel has
  std::span<const uint8_t> profile = {};  // of ICC, in the file; empty: there is none
  uint64_t tile_bytes = 0;                // the most memory that the pieces of one tile take, beside its samples
};

// Errors: kContent, or kUnsupported for pictures that are not decoded.
Result<Jpeg2000Head> read_jpeg2000_head(std::span<const uint8_t> bytes);

}  // namespace spdld::image
