// Writes what a view shows of the pixels of its picture, each from the nearest of them. Pure functions; any thread.
#pragma once

#include <algorithm>

#include "daemon/media/image/geometry/view.h"

namespace spdld::image {

// row(y) gives the values of a line of the picture, which is so wide; null: the line is `outside`, as places without a
// pixel are.
template <typename T, typename Row>
void write_nearest(const NearestMap& map, int width, T outside, Row row, T* out) {
  if (map.is_warped) {
    for (const int32_t pixel : map.pixels) {
      const auto* const from = pixel == kOutside ? nullptr : row(pixel / width);
      *out++ = from == nullptr ? outside : static_cast<T>(from[pixel % width]);
    }
    return;
  }
  for (const int32_t line : map.lines) {
    const auto* const from = line == kOutside ? nullptr : row(line);
    if (from == nullptr) {
      out = std::fill_n(out, map.columns.size(), outside);
      continue;
    }
    for (const int32_t column : map.columns) *out++ = column == kOutside ? outside : static_cast<T>(from[column]);
  }
}

}  // namespace spdld::image
