// A still picture that is coded as HEVC (ISO/IEC 23008-12, annex B), in one piece or in cells of one size. Each cell
// has a decoder of its own, so that nothing of one picture stays for another. One object a picture, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"

namespace spdld::ffmpeg {

// In the numbers of ITU-T H.273.
struct StillColours {
  uint32_t matrix = 2;  // not told
  bool is_full_range = false;
};

struct StillGrid {
  Size picture, cell;  // the cells may reach beyond the picture at its right and below
  int columns = 1, rows = 1;
  std::optional<StillColours> colours;  // none: as the first cell's coded data tells; not told: BT.601
  bool is_alpha = false;                // grey of the full range, whatever is told
};

// Both as they stand in the file, and valid during the call alone.
struct StillCell {
  std::span<const uint8_t> header;  // HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3.1)
  std::span<const uint8_t> data;    // units, each behind its length
};

// The memory that the decoding of a grid takes beside its rows. The frames' part is asked of limits.memory as frames
// come, so that a header that lies takes no more.
struct StillMemory {
  uint64_t bytes = 0, frame_bytes = 0;
};
StillMemory still_memory(const StillGrid& grid, std::span<const uint8_t> header);

class StillDecoder {
 public:
  // Throws SetupError (kUnsupported) where FFmpeg's libraries can't be loaded.
  StillDecoder(const StillGrid& grid, const media::DecodeLimits& limits);
  ~StillDecoder();
  StillDecoder(const StillDecoder&) = delete;
  StillDecoder& operator=(const StillDecoder&) = delete;

  // Decodes the next cell, row by row. Errors, here and below: kContent, and what is wrong, as in "a damaged picture:
  // its data can't be decoded"; kUnsupported, and what is not decoded, as in "a picture with YCgCo colours".
  Status add(const StillCell& cell);
  // Behind the last cell: the picture as RGB, or alpha as grey, of 8 bits. Samples of more bits are rounded. Chroma is
  // interpolated across the borders of cells.
  Status finish(PixelRows& rows);

 private:
  class Inside;
  const std::unique_ptr<Inside> inside_;
};

// The code that decides such a picture's pixels, with the version that this daemon was built with: the libraries are
// loaded with the first such picture.
std::string still_code();

}  // namespace spdld::ffmpeg
