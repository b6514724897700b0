// The short way of a common PNG: rows of 8-bit values that are wanted as they are stored, not interlaced. All coded
// data are inflated at once, into memory of the caller's arena, and rows are unfiltered there, one after another. It
// takes only pictures that are sound in every respect; for all others libspng gives the verdict, and the pixels where
// there are any. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/media/image/codecs/arena.h"
#include "daemon/media/image/codecs/png/chunks.h"
#include "daemon/media/image/codecs/png/inflater.h"
#include "daemon/media/image/codecs/png/reading.h"

namespace spdld::image {

class WholeRows {
 public:
  // Larger pictures are inflated row by row, so that a limit of CPU time holds while they are.
  static constexpr uint64_t kInflatedMax = uint64_t{32} << 20;

  // False: the picture goes libspng's way, and the arena may hold what must be taken back. `spare_bytes` of the arena
  // are left.
  bool start(std::span<const uint8_t> png, const PngHeader& header, const PngReading& reading, size_t spare_bytes,
             Arena& arena);
  void stop() { height_ = next_ = 0; }

  bool has_row() const { return next_ < height_; }
  uint32_t next_row() const { return next_; }
  // Precondition: has_row().
  void read_row(uint8_t* row);

 private:
  std::span<const uint8_t> gather(std::span<const uint8_t> png, size_t coded_bytes, Arena& arena);
  bool has_known_filters() const;
  uint8_t* filtered(uint32_t row) const { return rows_ + (row_bytes_ + 1) * row; }

  Inflater inflater_;
  uint8_t* rows_ = nullptr;  // each behind the byte of its filter
  const uint8_t* zeroes_ = nullptr;
  size_t row_bytes_ = 0;
  int pixel_bytes_ = 0;
  uint32_t height_ = 0, next_ = 0;
};

}  // namespace spdld::image
