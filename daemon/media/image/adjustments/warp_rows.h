// The loops of warps over a row of the result, for each instruction set. All sets give the same values. Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/media/image/adjustments/warp_maps.h"

namespace spdld::image {

// The places in a picture of `source` pixels from which row y comes, not far outside of it. Both spans have a number
// for each pixel of the row.
void fill_spots(const AffineMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys);
void fill_spots(const PerspectiveMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys);
void fill_spots(const ElasticMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys);

struct WarpedRow {
  const Warp& warp;
  const uint8_t* pixels;          // of the source, with PixelRows::kSlackBytes behind them
  std::span<const float> xs, ys;  // as fill_spots leaves them
};
// Pixels of 1 or 3 channels of 8 bits.
void take_row(const WarpedRow& row, int channels, uint8_t* out);

}  // namespace spdld::image
