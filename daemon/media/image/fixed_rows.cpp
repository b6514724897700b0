#include "daemon/media/image/fixed_rows.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/fixed_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "daemon/media/image/row_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

constexpr int kBits = FixedWeights::kFractionBits;

HWY_INLINE uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

template <int kChannels>
HWY_INLINE void cross_plainly(const FixedWeights& axis, const uint8_t* row, uint8_t* out) {
  for (int x = 0; x < axis.count(); ++x, out += kChannels) {
    int32_t sum[kChannels];
    for (int32_t& one : sum) one = kHalfSum;
    const uint8_t* from = row + static_cast<ptrdiff_t>(axis.start(x)) * kChannels;
    const int32_t* weights = axis.weights(x);
    for (int k = 0; k < axis.taps(x); ++k, from += kChannels) {
      for (int c = 0; c < kChannels; ++c) sum[c] += weights[k] * from[c];
    }
    for (int c = 0; c < kChannels; ++c) out[c] = rounded(sum[c]);
  }
}

// A vector holds the channels of a pixel. Of three channels it reads the next pixel's first one, too, and so a pixel's
// last tap is read by itself: it may be the row's last pixel.
template <int kChannels>
HWY_INLINE void cross_pixels(const FixedWeights& axis, const uint8_t* row, uint8_t* out) {
  const hn::CappedTag<int32_t, 4> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  for (int x = 0; x < axis.count(); ++x, out += kChannels) {
    auto sum = hn::Set(d, kHalfSum);
    const uint8_t* from = row + static_cast<ptrdiff_t>(axis.start(x)) * kChannels;
    const int32_t* weights = axis.weights(x);
    const int last = axis.taps(x) - 1;
    for (int k = 0; k < last; ++k, from += kChannels)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), hn::PromoteTo(d, hn::LoadU(bytes, from))));
    uint8_t pixel[4] = {};
    if (last >= 0) {
      std::memcpy(pixel, from, kChannels);
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[last]), hn::PromoteTo(d, hn::LoadU(bytes, pixel))));
    }
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kBits>(sum)), bytes, pixel);
    std::memcpy(out, pixel, kChannels);
  }
}

template <int kChannels>
HWY_INLINE void cross(const FixedWeights& axis, const uint8_t* row, uint8_t* out) {
  if constexpr (hn::MaxLanes(hn::CappedTag<int32_t, 4>()) < 4) {
    cross_plainly<kChannels>(axis, row, out);
  } else {
    cross_pixels<kChannels>(axis, row, out);
  }
}

void cross_kernel(const FixedWeights& axis, int channels, const uint8_t* row, uint8_t* out) {
  if (channels == 1) return cross_plainly<1>(axis, row, out);
  if (channels == 3) return cross<3>(axis, row, out);
  cross<4>(axis, row, out);
}

void add_kernel(const uint8_t* line, int32_t weight, size_t count, int32_t* sums) {
  const Floats d;
  const Ints<Floats> di;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(di, weight);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(di, sums + i), hn::Mul(factor, load_ints(d, line + i))), di, sums + i);
  for (; i < count; ++i) sums[i] += weight * line[i];
}

void round_kernel(const int32_t* sums, size_t count, uint8_t* out) {
  const Floats d;
  const Ints<Floats> di;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) store_bytes(d, hn::ShiftRight<kBits>(hn::LoadU(di, sums + i)), out + i);
  for (; i < count; ++i) out[i] = rounded(sums[i]);
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(cross_kernel);
HWY_EXPORT(add_kernel);
HWY_EXPORT(round_kernel);

void cross_row(const FixedWeights& axis, int channels, const uint8_t* row, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(cross_kernel)(axis, channels, row, out);
}
void add_line(const uint8_t* line, int32_t weight, size_t count, int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_kernel)(line, weight, count, sums);
}
void round_sums(const int32_t* sums, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(round_kernel)(sums, count, out);
}

}  // namespace spdld::image
#endif  // HWY_ONCE
