#include "daemon/transform/resample.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/transform/resample.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::transform::HWY_NAMESPACE {
namespace {

constexpr int kFraction = 7;
// Products are rounded to 16 bits, one by one; sums of more of them than this are kept in 32 bits.
constexpr int kTapsFew = 64;

#if HWY_TARGET == HWY_SCALAR

// The same arithmetic without vectors, for machines that have none; and what the tests hold the others to.
class Sum {
 public:
  explicit Sum(int taps) : wide_(taps > kTapsFew), sum_(wide_ ? 1 << 14 : 0) {}
  void add(int value, int weight) {
    sum_ = wide_ ? sum_ + value * weight : HWY_MIN(sum_ + ((value * weight + (1 << 14)) >> 15), 32767);
  }
  int16_t value() const { return static_cast<int16_t>(HWY_MIN(wide_ ? sum_ >> 15 : sum_, 32767)); }

 private:
  bool wide_;
  int sum_;
};

void vertical_row(const Band& band, int row) {
  const AxisWeights& axis = *band.vertical;
  const int wanted = band.first_row + row;
  const size_t bytes = static_cast<size_t>(band.horizontal->range().end - band.horizontal->range().first) * 3;
  for (size_t at = 0; at < bytes; ++at) {
    const uint8_t* source = band.source + band.source_stride_bytes * static_cast<size_t>(axis.start(wanted)) + at;
    Sum sum(axis.taps(wanted));
    for (int k = 0; k < axis.taps(wanted); ++k, source += band.source_stride_bytes) {
      sum.add(*source << kFraction, axis.weights(wanted)[k]);
    }
    band.columns[at * kBandRows + static_cast<size_t>(row)] = sum.value();
  }
}

void horizontal_row(const Band& band, int row) {
  const AxisWeights& axis = *band.horizontal;
  uint8_t* out = band.out + band.out_stride_bytes * static_cast<size_t>(row);
  for (int i = 0; i < axis.count() * 3; ++i) {
    const int x = i / 3;
    const int16_t* column = band.columns + (axis.start(x) * 3 + i % 3) * kBandRows + row;
    Sum sum(axis.taps(x));
    for (int k = 0; k < axis.taps(x); ++k) sum.add(column[k * 3 * kBandRows], axis.weights(x)[k]);
    out[i] = static_cast<uint8_t>(HWY_MIN((sum.value() + (1 << (kFraction - 1))) >> kFraction, 255));
  }
}

void band_kernel(const Band& band) {
  for (int row = 0; row < band.rows; ++row) {
    vertical_row(band, row);
    horizontal_row(band, row);
  }
}

#else  // vectors

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86
constexpr size_t kLanes = HWY_MIN(HWY_LANES(int16_t), 32);
#else
constexpr size_t kLanes = 8;  // also where vectors have no fixed length
#endif
constexpr size_t kBlock = 8;  // lanes of 128 bits

using Columns = hn::FixedTag<int16_t, kLanes>;
using Rows = hn::FixedTag<int16_t, HWY_MIN(kLanes, size_t{kBandRows})>;

// One round of a perfect shuffle; log2(kCount) of them transpose the kCount x kCount elements in every 128-bit block.
template <size_t kCount, class D, class V>
HWY_INLINE void shuffle_round(D d, const V (&in)[kCount], V (&out)[kCount]) {
  HWY_UNROLL(8)
  for (size_t i = 0; i < kCount / 2; ++i) {
    out[2 * i] = hn::InterleaveLower(d, in[i], in[i + kCount / 2]);
    out[2 * i + 1] = hn::InterleaveUpper(d, in[i], in[i + kCount / 2]);
  }
}

// Stores each 128-bit block of `v` at `to`, `to + step`, ...
template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, int16_t* HWY_RESTRICT to, size_t step) {
  if constexpr (hn::MaxLanes(D()) == kBlock) {
    hn::Store(v, d, to);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), to, step);
    store_blocks(half, hn::UpperHalf(half, v), to + hn::MaxLanes(half) / kBlock * step, step);
  }
}

// The weighted sum of many taps; load(k, part, d) gives the 32-bit values of tap k for the lanes from `part`.
template <class D, class Load>
HWY_NOINLINE hn::Vec<D> many_taps(D d, Load load, const int16_t* weights, int taps) {
  const hn::Rebind<int32_t, hn::Half<D> > d32;
  const hn::Rebind<int16_t, decltype(d32)> d16;
  HWY_ALIGN int16_t sums[hn::MaxLanes(D())];
  for (size_t part = 0; part < hn::MaxLanes(D()); part += hn::MaxLanes(d32)) {
    auto sum = hn::Set(d32, 1 << 14);
    for (int k = 0; k < taps; ++k) sum = hn::Add(sum, hn::Mul(load(k, part, d32), hn::Set(d32, int32_t{weights[k]})));
    hn::StoreU(hn::DemoteTo(d16, hn::ShiftRight<15>(sum)), d16, sums + part);
  }
  return hn::Load(d, sums);
}

HWY_INLINE hn::Vec<Columns> vertical_sum(const uint8_t* HWY_RESTRICT source, size_t stride, const int16_t* weights,
                                         int taps) {
  const Columns d;
  const hn::Rebind<uint8_t, Columns> d8;
  if (taps > kTapsFew) {
    const auto load = [=](int k, size_t part, auto d32) HWY_ATTR {
      const hn::Rebind<uint8_t, decltype(d32)> d8_part;
      const uint8_t* from = source + stride * static_cast<size_t>(k) + part;
      return hn::ShiftLeft<kFraction>(hn::PromoteTo(d32, hn::LoadU(d8_part, from)));
    };
    return many_taps(d, load, weights, taps);
  }
  auto sum = hn::Zero(d);
  for (int k = 0; k < taps; ++k, source += stride) {
    const auto pixels = hn::ShiftLeft<kFraction>(hn::PromoteTo(d, hn::LoadU(d8, source)));
    sum = hn::SaturatedAdd(sum, hn::MulFixedPoint15(pixels, hn::Set(d, weights[k])));
  }
  return sum;
}

// Eight rows of the band, from `row`, to their half of band.columns.
HWY_INLINE void vertical_rows(const Band& band, int row, int16_t* HWY_RESTRICT columns) {
  const Columns d;
  const AxisWeights& axis = *band.vertical;
  const uint8_t* source[kBlock];
  const int16_t* weights[kBlock];
  int taps[kBlock];
  for (size_t r = 0; r < kBlock; ++r) {  // rows behind the band's end repeat its last one, and nobody reads them
    const int wanted = band.first_row + HWY_MIN(row + static_cast<int>(r), band.rows - 1);
    source[r] = band.source + band.source_stride_bytes * static_cast<size_t>(axis.start(wanted));
    weights[r] = axis.weights(wanted);
    taps[r] = axis.taps(wanted);
  }
  const size_t bytes = static_cast<size_t>(band.horizontal->range().end - band.horizontal->range().first) * 3;
  for (size_t at = 0; at < bytes; at += kLanes) {
    hn::Vec<Columns> a[kBlock], b[kBlock];
    HWY_UNROLL(8)
    for (size_t r = 0; r < kBlock; ++r) {
      a[r] = vertical_sum(source[r] + at, band.source_stride_bytes, weights[r], taps[r]);
    }
    shuffle_round<kBlock>(d, a, b);
    shuffle_round<kBlock>(d, b, a);
    shuffle_round<kBlock>(d, a, b);
    int16_t* to = columns + at * kBandRows;
    HWY_UNROLL(8)
    for (size_t c = 0; c < kBlock; ++c) store_blocks(d, b[c], to + c * kBandRows, kBlock * kBandRows);
  }
}

template <class D>
HWY_INLINE void store_rounded(D d, hn::Vec<D> sum, uint8_t* HWY_RESTRICT to) {
  const hn::Rebind<uint8_t, D> d8;
  const auto half = hn::Set(d, int16_t{1 << (kFraction - 1)});
  hn::Store(hn::DemoteTo(d8, hn::ShiftRight<kFraction>(hn::SaturatedAdd(sum, half))), d8, to);
}

HWY_NOINLINE void many_taps_horizontally(const int16_t* column, const int16_t* weights, int taps, uint8_t* to) {
  const Rows d;
  for (size_t c = 0; c < 3; ++c, column += kBandRows, to += kBandRows) {
    const auto load = [=](int k, size_t part, auto d32) HWY_ATTR {
      const hn::Rebind<int16_t, decltype(d32)> d16;
      return hn::PromoteTo(d32, hn::LoadU(d16, column + static_cast<size_t>(k) * 3 * kBandRows + part));
    };
    store_rounded(d, many_taps(d, load, weights, taps), to);
  }
}

HWY_INLINE void horizontal_columns(const Band& band) {
  const Rows d;
  const AxisWeights& axis = *band.horizontal;
  const int width = axis.count();
  for (int x = 0; x < width; ++x) {
    const int16_t* first = band.columns + static_cast<size_t>(axis.start(x)) * 3 * kBandRows;
    const int16_t* weights = axis.weights(x);
    const int taps = axis.taps(x);
    uint8_t* to = band.turned + static_cast<size_t>(x) * 3 * kBandRows;
    for (size_t part = 0; part < kBandRows; part += hn::MaxLanes(d)) {
      const int16_t* column = first + part;
      if (taps > kTapsFew) {
        many_taps_horizontally(column, weights, taps, to + part);
        continue;
      }
      auto red = hn::Zero(d), green = red, blue = red;
      for (int k = 0; k < taps; ++k, column += 3 * kBandRows) {
        const auto weight = hn::Set(d, weights[k]);
        red = hn::SaturatedAdd(red, hn::MulFixedPoint15(hn::Load(d, column), weight));
        green = hn::SaturatedAdd(green, hn::MulFixedPoint15(hn::Load(d, column + kBandRows), weight));
        blue = hn::SaturatedAdd(blue, hn::MulFixedPoint15(hn::Load(d, column + 2 * kBandRows), weight));
      }
      store_rounded(d, red, to + part);
      store_rounded(d, green, to + kBandRows + part);
      store_rounded(d, blue, to + 2 * kBandRows + part);
    }
  }
}

HWY_INLINE void turn_back(const Band& band) {
  const hn::FixedTag<uint8_t, kBandRows> d;
  const size_t bytes = Band::row_bytes(band.horizontal->count());
  for (size_t at = 0; at < bytes; at += kBandRows) {
    hn::Vec<decltype(d)> a[kBandRows], b[kBandRows];
    HWY_UNROLL(16)
    for (size_t c = 0; c < kBandRows; ++c) a[c] = hn::Load(d, band.turned + (at + c) * kBandRows);
    shuffle_round<kBandRows>(d, a, b);
    shuffle_round<kBandRows>(d, b, a);
    shuffle_round<kBandRows>(d, a, b);
    shuffle_round<kBandRows>(d, b, a);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kBandRows; ++r) hn::StoreU(a[r], d, band.out + r * band.out_stride_bytes + at);
  }
}

void band_kernel(const Band& band) {
  vertical_rows(band, 0, band.columns);
  vertical_rows(band, static_cast<int>(kBlock), band.columns + kBlock);
  horizontal_columns(band);
  turn_back(band);
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace spdld::transform::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::transform {

HWY_EXPORT(band_kernel);

void resample_band(const Band& band) { HWY_DYNAMIC_DISPATCH(band_kernel)(band); }

}  // namespace spdld::transform
#endif  // HWY_ONCE
