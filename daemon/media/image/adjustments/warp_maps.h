// The places of the source from which a warp's pixels come, in float32 and in torch's order. Loops over these maps are
// compiled for each instruction set. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>

#include "daemon/media/image/adjustments/warp.h"

namespace spdld::image {

// A place of the source, where whole numbers are the middles of pixels.
struct Spot {
  float x, y;
};

// grid_sample's way from -1 .. 1, the borders of the picture, to pixels.
struct Unnormalized {
  explicit Unnormalized(const Size& source)
      : half_width(static_cast<float>(source.width) / 2), half_height(static_cast<float>(source.height) / 2) {}
  Spot operator()(float x, float y) const { return {(x + 1) * half_width - 0.5F, (y + 1) * half_height - 0.5F}; }
  float half_width, half_height;
};

// The numbers of `warp.back` in parts of half a side, as float32.
inline std::array<float, 6> rescaled(const Warp& warp, const Size& by) {
  std::array<float, 6> numbers;
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(warp.back[i]) / (0.5F * static_cast<float>(i < 3 ? by.width : by.height));
  return numbers;
}

struct AffineMap {
  explicit AffineMap(const Warp& warp)
      : by(rescaled(warp, warp.source)),
        left((1 - static_cast<float>(warp.size.width)) * 0.5F),
        top((1 - static_cast<float>(warp.size.height)) * 0.5F),
        to_pixels(warp.source) {}
  Spot operator()(int column, int row) const {
    const float x = left + static_cast<float>(column), y = top + static_cast<float>(row);
    return to_pixels((x * by[0] + y * by[1]) + by[2], (x * by[3] + y * by[4]) + by[5]);
  }
  std::array<float, 6> by;
  float left, top;
  Unnormalized to_pixels;
};

struct PerspectiveMap {
  explicit PerspectiveMap(const Warp& warp)
      : by(rescaled(warp, warp.size)),
        below{static_cast<float>(warp.back[6]), static_cast<float>(warp.back[7])},
        to_pixels(warp.source) {}
  Spot operator()(int column, int row) const {
    const float x = static_cast<float>(column) + 0.5F, y = static_cast<float>(row) + 0.5F;
    const float divisor = (x * below[0] + y * below[1]) + 1;
    return to_pixels(((x * by[0] + y * by[1]) + by[2]) / divisor - 1, ((x * by[3] + y * by[4]) + by[5]) / divisor - 1);
  }
  std::array<float, 6> by;
  std::array<float, 2> below;
  Unnormalized to_pixels;
};

// One side of torch's linspace((1 - n) / n, (n - 1) / n, n), which counts from both ends.
struct Identity {
  explicit Identity(int side)
      : count(side),
        last(static_cast<float>(static_cast<double>(side - 1) / side)),
        step(side > 1 ? (last + last) / static_cast<float>(side - 1) : 0) {}
  float at(int i) const {
    return i < count / 2 ? -last + step * static_cast<float>(i) : last - step * static_cast<float>(count - 1 - i);
  }
  int count;
  float last, step;
};

struct ElasticMap {
  ElasticMap(const Warp& warp, const float* across_, const float* down_)
      : width(static_cast<size_t>(warp.size.width)),
        columns(warp.size.width),
        rows(warp.size.height),
        across(across_),
        down(down_),
        to_pixels(warp.source) {}
  Spot operator()(int column, int row) const {
    const size_t at = static_cast<size_t>(row) * width + static_cast<size_t>(column);
    return to_pixels(columns.at(column) + across[at], rows.at(row) + down[at]);
  }
  size_t width;
  Identity columns, rows;
  const float *across, *down;
  Unnormalized to_pixels;
};

// Not far from the picture, also where it is no number.
inline float bounded(float at, int side) {
  const auto most = static_cast<float>(side) + 1;
  const float from_least = at > -2 ? at : -2;
  return from_least < most ? from_least : most;
}

// To the nearest whole number, ties to even, of a value below 2^22.
inline float to_nearest(float value) {
  constexpr float kWholeFrom = 12'582'912;  // 1.5 * 2^23
  return (value + kWholeFrom) - kWholeFrom;
}

}  // namespace spdld::image
