#include "daemon/media/image/adjustments/warp_rows.h"

#include <algorithm>

#include "daemon/media/image/adjustments/adjust_pixels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/adjustments/warp_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "daemon/media/image/kernels/row_vectors.h"

#ifndef SPDLD_IMAGE_WARP_ROWS_ONCE
#define SPDLD_IMAGE_WARP_ROWS_ONCE
namespace spdld::image {
namespace {

constexpr int kWeightBits = 11;  // of each side's weight
constexpr int kWeightOne = 1 << kWeightBits;

bool is_in(int at, int side) { return static_cast<uint32_t>(at) < static_cast<uint32_t>(side); }

// Where a pixel comes from: its upper left neighbour, and the weights of the right and of the lower ones.
struct Corner {
  int x, y, right_part, lower_part;
};

Corner corner_of(float x, float y) {
  const float left = std::floor(x), top = std::floor(y);
  return {static_cast<int>(left), static_cast<int>(top), static_cast<int>((x - left) * kWeightOne + 0.5F),
          static_cast<int>((y - top) * kWeightOne + 0.5F)};
}

// Mixes a pixel that has a neighbour outside of the picture. The neighbour's part is mixed with `fill` as torchvision
// does: outside is black, and the sum is then mixed by the weight of the neighbours inside.
template <int kChannels>
void mix_at_border(const Warp& warp, const uint8_t* pixels, const Corner& corner, uint8_t* out) {
  constexpr float kOne = static_cast<float>(kWeightOne) * kWeightOne;
  const int across[2] = {kWeightOne - corner.right_part, corner.right_part};
  const int down[2] = {kWeightOne - corner.lower_part, corner.lower_part};
  float sums[kChannels] = {}, inside = 0;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      const int x = corner.x + dx, y = corner.y + dy;
      if (!is_in(x, warp.source.width) || !is_in(y, warp.source.height)) continue;
      const float weight = static_cast<float>(across[dx] * down[dy]) / kOne;
      const size_t at = static_cast<size_t>(y) * static_cast<size_t>(warp.source.width) + static_cast<size_t>(x);
      inside += weight;
      for (int channel = 0; channel < kChannels; ++channel)
        sums[channel] += weight * static_cast<float>(pixels[at * kChannels + static_cast<size_t>(channel)]);
    }
  }
  for (size_t channel = 0; channel < kChannels; ++channel) {
    const auto fill = static_cast<float>(warp.fill[channel]);
    out[channel] = value_of(to_nearest(inside * (sums[channel] - fill) + fill));
  }
}

}  // namespace
}  // namespace spdld::image
#endif

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

// A plain loop, which the compiler turns into vectors of this instruction set.
template <typename Map>
HWY_INLINE void fill(const Map& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  const int width = static_cast<int>(xs.size());
  float* const to_x = xs.data();
  float* const to_y = ys.data();
  for (int x = 0; x < width; ++x) {
    const Spot spot = map(x, y);
    to_x[x] = bounded(spot.x, source.width);
    to_y[x] = bounded(spot.y, source.height);
  }
}

void fill_affine(const AffineMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  fill(map, y, source, xs, ys);
}
void fill_perspective(const PerspectiveMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  fill(map, y, source, xs, ys);
}
void fill_elastic(const ElasticMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  fill(map, y, source, xs, ys);
}

template <class D>
using IntVector = hn::Vec<Ints<D>>;

template <class D>
HWY_INLINE IntVector<D> whole(D, int value) {
  return hn::Set(Ints<D>(), value);
}
// 0 <= at < side.
template <class D>
HWY_INLINE hn::Mask<Ints<D>> are_in(D d, IntVector<D> at, int side) {
  return hn::And(hn::Gt(at, whole(d, -1)), hn::Lt(at, whole(d, side)));
}
template <class D>
HWY_INLINE IntVector<D> clamped(D d, IntVector<D> at, int last) {
  return hn::Max(hn::Min(at, whole(d, last)), whole(d, 0));
}
// Four bytes from each place. Bytes beyond the pixel are not used.
template <class D>
HWY_INLINE IntVector<D> gather(D, const uint8_t* pixels, IntVector<D> at) {
  return hn::GatherOffset(Ints<D>(), reinterpret_cast<const int32_t*>(pixels), at);
}
// The byte of this number.
template <int kByte, class D>
HWY_INLINE IntVector<D> byte_of(D d, IntVector<D> four) {
  return hn::And(hn::ShiftRight<8 * kByte>(four), whole(d, 255));
}

template <int kChannels, class D>
HWY_INLINE void store_pixels(D, IntVector<D> red, IntVector<D> green, IntVector<D> blue, uint8_t* to) {
  const Bytes<D> bytes;
  if constexpr (kChannels == 1) {
    hn::StoreU(hn::DemoteTo(bytes, red), bytes, to);
  } else {
    hn::StoreInterleaved3(hn::DemoteTo(bytes, red), hn::DemoteTo(bytes, green), hn::DemoteTo(bytes, blue), bytes, to);
  }
}

template <int kChannels>
struct Nearest {
  const WarpedRow& row;
  uint8_t* out;

  template <class D>
  HWY_INLINE IntVector<D> nearest(D d, const float* from) const {
    return hn::ConvertTo(Ints<D>(), to_wholes(d, hn::LoadU(d, from)));
  }
  template <class D>
  HWY_INLINE void run(D d, size_t i) const {
    const Size source = row.warp.source;
    const auto x = nearest(d, row.xs.data() + i), y = nearest(d, row.ys.data() + i);
    const auto inside = hn::And(are_in(d, x, source.width), are_in(d, y, source.height));
    const auto line = hn::Mul(clamped(d, y, source.height - 1), whole(d, source.width));
    const auto at = hn::Mul(hn::Add(line, clamped(d, x, source.width - 1)), whole(d, kChannels));
    const auto& fill = row.warp.fill;
    const auto outside = whole(d, fill[0] | fill[1] << 8 | fill[2] << 16);
    const auto pixel = hn::IfThenElse(inside, gather(d, row.pixels, at), outside);
    store_pixels<kChannels>(d, byte_of<0>(d, pixel), byte_of<1>(d, pixel), byte_of<2>(d, pixel), out + i * kChannels);
  }
};

template <int kChannels>
struct Bilinear {
  const WarpedRow& row;
  uint8_t* out;

  template <class D>
  struct Four {
    IntVector<D> upper_left, upper_right, lower_left, lower_right;
  };
  template <class D>
  struct Fractions {
    IntVector<D> right, lower;
  };

  template <class D>
  HWY_INLINE IntVector<D> part_of(D d, hn::Vec<D> at, hn::Vec<D> before) const {
    const auto part = hn::Mul(hn::Sub(at, before), hn::Set(d, kWeightOne));
    return hn::ConvertTo(Ints<D>(), hn::Add(part, hn::Set(d, 0.5F)));
  }
  // As the sum of the four values times their weights, to the nearest.
  template <int kByte, class D>
  HWY_INLINE IntVector<D> mixed(D d, const Four<D>& four, const Fractions<D>& parts) const {
    const auto between = [&](IntVector<D> first, IntVector<D> second, IntVector<D> part) HWY_ATTR {
      return hn::Add(hn::ShiftLeft<kWeightBits>(first), hn::Mul(hn::Sub(second, first), part));
    };
    const auto upper = between(byte_of<kByte>(d, four.upper_left), byte_of<kByte>(d, four.upper_right), parts.right);
    const auto lower = between(byte_of<kByte>(d, four.lower_left), byte_of<kByte>(d, four.lower_right), parts.right);
    const auto sum = hn::Add(between(upper, lower, parts.lower), whole(d, 1 << (2 * kWeightBits - 1)));
    return hn::ShiftRight<2 * kWeightBits>(sum);
  }
  template <class D>
  HWY_INLINE Four<D> four_at(D d, IntVector<D> x, IntVector<D> y) const {
    const Size source = row.warp.source;
    const auto line = hn::Mul(clamped(d, y, source.height - 2), whole(d, source.width));
    const auto at = hn::Mul(hn::Add(line, clamped(d, x, source.width - 2)), whole(d, kChannels));
    const auto below = hn::Add(at, whole(d, source.height > 1 ? source.width * kChannels : 0));
    const auto step = whole(d, kChannels);
    return {gather(d, row.pixels, at), gather(d, row.pixels, hn::Add(at, step)), gather(d, row.pixels, below),
            gather(d, row.pixels, hn::Add(below, step))};
  }
  template <class D>
  HWY_INLINE void run(D d, size_t i) const {
    const Size source = row.warp.source;
    const auto xs = hn::LoadU(d, row.xs.data() + i), ys = hn::LoadU(d, row.ys.data() + i);
    const auto left = hn::Floor(xs), top = hn::Floor(ys);
    const auto x = hn::ConvertTo(Ints<D>(), left), y = hn::ConvertTo(Ints<D>(), top);
    const auto inside = hn::And(are_in(d, x, source.width - 1), are_in(d, y, source.height - 1));
    uint8_t* const to = out + i * kChannels;
    if (!hn::AllFalse(Ints<D>(), inside)) {
      const Four<D> four = four_at(d, x, y);
      const Fractions<D> parts = {part_of(d, xs, left), part_of(d, ys, top)};
      store_pixels<kChannels>(d, mixed<0>(d, four, parts), mixed<1>(d, four, parts), mixed<2>(d, four, parts), to);
    }
    if (hn::AllTrue(Ints<D>(), inside)) return;
    for (size_t k = 0; k < hn::Lanes(d); ++k) mix_if_at_border(i + k);
  }
  void mix_if_at_border(size_t i) const {
    const Size source = row.warp.source;
    const Corner corner = corner_of(row.xs[i], row.ys[i]);
    if (is_in(corner.x, source.width - 1) && is_in(corner.y, source.height - 1)) return;
    uint8_t* const to = out + i * kChannels;
    if (is_in(corner.x + 1, source.width + 1) && is_in(corner.y + 1, source.height + 1))
      return mix_at_border<kChannels>(row.warp, row.pixels, corner, to);
    std::copy_n(row.warp.fill.data(), kChannels, to);
  }
};

void take_kernel(const WarpedRow& row, int channels, uint8_t* out) {
  const bool is_nearest = row.warp.filter == Filter::kNearest;
  const size_t count = row.xs.size();
  if (channels == 1)
    return is_nearest ? each_vector(count, Nearest<1>{row, out}) : each_vector(count, Bilinear<1>{row, out});
  return is_nearest ? each_vector(count, Nearest<3>{row, out}) : each_vector(count, Bilinear<3>{row, out});
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(fill_affine);
HWY_EXPORT(fill_perspective);
HWY_EXPORT(fill_elastic);
HWY_EXPORT(take_kernel);

void fill_spots(const AffineMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  HWY_DYNAMIC_DISPATCH(fill_affine)(map, y, source, xs, ys);
}
void fill_spots(const PerspectiveMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  HWY_DYNAMIC_DISPATCH(fill_perspective)(map, y, source, xs, ys);
}
void fill_spots(const ElasticMap& map, int y, const Size& source, std::span<float> xs, std::span<float> ys) {
  HWY_DYNAMIC_DISPATCH(fill_elastic)(map, y, source, xs, ys);
}
void take_row(const WarpedRow& row, int channels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(take_kernel)(row, channels, out);
}

}  // namespace spdld::image
#endif  // HWY_ONCE
