// The kernels that resample one band of rows, for every instruction set that Highway knows, chosen at run time; all of
// them give the same bytes. Pure functions over memory that the caller owns; any thread.
//
// Vertical pass first, on the rows as they are (interleaved 8-bit RGB), to 16-bit values with 7 fractional bits. It
// leaves them turned: the band's rows lie side by side for each source column. So the horizontal pass is, for any
// number of taps, plain vector arithmetic over 16 rows at once; its result is turned back. Rounded to 8 bits once, at
// the end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/transform/weights.h"

namespace spdld::transform {

constexpr int kBandRows = 16;

struct Band {
  const uint8_t* source = nullptr;  // pixel (horizontal.range().first, vertical.range().first) of the pass's box
  size_t source_stride_bytes = 0;   // 64 bytes behind the last source pixel needed are read
  const AxisWeights* vertical = nullptr;
  const AxisWeights* horizontal = nullptr;
  int first_row = 0, rows = 0;  // wanted rows [first_row, first_row + rows), at most kBandRows
  int16_t* columns = nullptr;   // scratch of columns_size() elements, aligned to 64 bytes
  uint8_t* turned = nullptr;    // scratch of turned_size() bytes, aligned to 64 bytes
  uint8_t* out = nullptr;       // kBandRows rows of interleaved RGB
  size_t out_stride_bytes = 0;  // at least row_bytes()

  // Scratch for `source_width` source and `width` wanted pixels, and a row of the latter rounded up to whole vectors.
  static size_t columns_size(int source_width) { return (static_cast<size_t>(source_width) * 3 + 32) * kBandRows; }
  static size_t row_bytes(int width) { return (static_cast<size_t>(width) * 3 + 15) / 16 * 16; }
  static size_t turned_size(int width) { return row_bytes(width) * kBandRows; }
};

void resample_band(const Band& band);

}  // namespace spdld::transform
