#include "daemon/media/image/kernels/resample.h"

#include <cmath>

#include "daemon/media/image/kernels/ahead.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/kernels/resample.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SPDLD_TRANSFORM_RESAMPLE_ONCE
#define SPDLD_TRANSFORM_RESAMPLE_ONCE
namespace spdld::image {
namespace {

constexpr int kFraction = 7;
// Products are rounded to 16 bits, one by one; sums of more of them than this are kept in 32 bits.
constexpr int kTapsFew = 64;

// The factors by which chroma, less its middle, adds to luma (JFIF 1.02, section 7), in 1/32768; R and B also get it
// once as it is.
constexpr int16_t kMiddle = 128 << kFraction;
constexpr int16_t kRedFromCr = 13173;     // 1.402 - 1
constexpr int16_t kGreenFromCb = -11277;  // -0.344136
constexpr int16_t kGreenFromCr = -23401;  // -0.714136
constexpr int16_t kBlueFromCb = 25297;    // 1.772 - 1

// Where the colours of a row of wanted pixels lie, as columns of the band's result.
struct ColourColumns {
  size_t step, green, blue;  // from pixel to pixel; from red to the others

  explicit ColourColumns(const RowLayout& layout)
      : step(layout.planar ? 1 : 3),
        green(layout.grey     ? 0
              : layout.planar ? layout.plane_bytes()
                              : 1),
        blue(2 * green) {}
};

}  // namespace
}  // namespace spdld::image
#endif

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

// The same arithmetic without vectors, for machines that have none; and what the tests hold the others to.
class Sum {
 public:
  explicit Sum(int taps) : wide_(taps > kTapsFew), sum_(wide_ ? 1 << 14 : 0) {}
  void add(int value, int weight) {
    sum_ = wide_ ? sum_ + value * weight : HWY_MIN(sum_ + ((value * weight + (1 << 14)) >> 15), 32767);
  }
  int value() const { return HWY_MIN(wide_ ? sum_ >> 15 : sum_, 32767); }

 private:
  bool wide_;
  int sum_;
};

void vertical_row(const BandSource& from, size_t samples, int wanted, int row) {
  const AxisWeights& axis = *from.vertical;
  for (size_t at = 0; at < samples; ++at) {
    const uint8_t* source = from.first + from.stride_bytes * static_cast<size_t>(axis.start(wanted)) + at;
    Sum sum(axis.taps());
    for (int k = 0; k < axis.taps(); ++k, source += from.stride_bytes) {
      sum.add(*source << kFraction, axis.weight(wanted, k));
    }
    from.columns[at * kBandRows + static_cast<size_t>(row)] = static_cast<int16_t>(sum.value());
  }
}

int horizontal_sum(const BandSource& from, int x, int row, int channels, int channel) {
  const AxisWeights& axis = *from.horizontal;
  const int16_t* column = from.columns + (axis.start(x) * channels + channel) * kBandRows + row;
  Sum sum(axis.taps());
  for (int k = 0; k < axis.taps(); ++k) sum.add(column[k * channels * kBandRows], axis.weight(x, k));
  return sum.value();
}

uint8_t rounded(int value) {
  return static_cast<uint8_t>(HWY_MAX(0, HWY_MIN((value + (1 << (kFraction - 1))) >> kFraction, 255)));
}

int product(int value, int factor) { return (value * factor + (1 << 14)) >> 15; }

void horizontal_row(const Band& band, int row) {
  const ColourColumns columns(band.layout);
  const bool rgb = band.colours == Band::Colours::kRgb;
  uint8_t* to = band.out + band.layout.bytes() * static_cast<size_t>(row);
  for (int x = 0; x < band.layout.width; ++x, to += columns.step) {
    const int first = horizontal_sum(band.sources[0], x, row, rgb ? 3 : 1, 0);
    int red = first, green = first, blue = first;
    if (rgb) {
      green = horizontal_sum(band.sources[0], x, row, 3, 1);
      blue = horizontal_sum(band.sources[0], x, row, 3, 2);
    } else if (band.colours == Band::Colours::kYcc) {
      const int cb = horizontal_sum(band.sources[1], x, row, 1, 0) - kMiddle;
      const int cr = horizontal_sum(band.sources[2], x, row, 1, 0) - kMiddle;
      if (band.tagged != nullptr) {
        const TaggedColours& by = *band.tagged;
        red += cr + product(cr, by.red_from_cr);
        green += product(cb, by.green_from_cb) + product(cr, by.green_from_cr);
        blue += 2 * cb + product(cb, by.blue_from_cb);
      } else {
        red += cr + product(cr, kRedFromCr);
        green += product(cb, kGreenFromCb) + product(cr, kGreenFromCr);
        blue += cb + product(cb, kBlueFromCb);
      }
    }
    if (band.tagged != nullptr) {
      const int more = product(first, band.tagged->luma) - band.tagged->black;
      red += more;
      green += more;
      blue += more;
    }
    to[0] = rounded(red);
    to[columns.green] = rounded(green);
    to[columns.blue] = rounded(blue);
  }
}

void band_kernel(const Band& band) {
  for (int row = 0; row < band.rows; ++row) {
    for (int i = 0; i < (band.colours == Band::Colours::kYcc ? 3 : 1); ++i) {
      const BandSource& from = band.sources[static_cast<size_t>(i)];
      const int samples = from.width() * (band.colours == Band::Colours::kRgb ? 3 : 1);
      vertical_row(from, static_cast<size_t>(samples), band.first_row + row, row);
    }
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

using Lanes = hn::FixedTag<int16_t, kLanes>;  // source columns in the vertical pass, rows in the horizontal one
using Vector = hn::Vec<Lanes>;

// One round of a perfect shuffle; log2(kCount) of them transpose the kCount x kCount elements in every 128-bit block.
template <size_t kCount, class D, class V>
HWY_INLINE void shuffle_round(D d, const V (&in)[kCount], V (&out)[kCount]) {
  HWY_UNROLL(8)
  for (size_t i = 0; i < kCount / 2; ++i) {
    out[2 * i] = hn::InterleaveLower(d, in[i], in[i + kCount / 2]);
    out[2 * i + 1] = hn::InterleaveUpper(d, in[i], in[i + kCount / 2]);
  }
}

// Stores each piece of `kPiece` lanes of `v` at `to`, `to + step`, ...
template <size_t kPiece, class D>
HWY_INLINE void store_pieces(D d, hn::Vec<D> v, hn::TFromD<D>* HWY_RESTRICT to, size_t step) {
  if constexpr (hn::MaxLanes(D()) <= kPiece) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    store_pieces<kPiece>(half, hn::LowerHalf(half, v), to, step);
    store_pieces<kPiece>(half, hn::UpperHalf(half, v), to + hn::MaxLanes(half) / kPiece * step, step);
  }
}

// The weighted sum of many taps; load(k, part, d) gives the 32-bit values of tap k for the lanes from `part`.
template <class Load>
HWY_NOINLINE Vector many_taps(Load load, const int16_t* weights, size_t weight_step, int taps) {
  const Lanes d;
  const hn::Rebind<int32_t, hn::Half<Lanes> > d32;
  const hn::Rebind<int16_t, decltype(d32)> d16;
  HWY_ALIGN int16_t sums[kLanes];
  for (size_t part = 0; part < kLanes; part += hn::MaxLanes(d32)) {
    auto sum = hn::Set(d32, 1 << 14);
    const int16_t* weight = weights;
    for (int k = 0; k < taps; ++k, weight += weight_step) {
      sum = hn::Add(sum, hn::Mul(load(k, part, d32), hn::Set(d32, int32_t{*weight})));
    }
    hn::StoreU(hn::DemoteTo(d16, hn::ShiftRight<15>(sum)), d16, sums + part);
  }
  return hn::Load(d, sums);
}

// kTaps: as many, or as `taps` says (0).
template <int kTaps>
HWY_INLINE Vector vertical_sum(const uint8_t* HWY_RESTRICT source, size_t stride, const int16_t* weights,
                               size_t weight_step, int taps) {
  const Lanes d;
  const hn::Rebind<uint8_t, Lanes> d8;
  if (kTaps == 0 && HWY_UNLIKELY(taps > kTapsFew)) {
    const auto load = [=](int k, size_t part, auto d32) HWY_ATTR {
      const hn::Rebind<uint8_t, decltype(d32)> d8_part;
      const uint8_t* from = source + stride * static_cast<size_t>(k) + part;
      return hn::ShiftLeft<kFraction>(hn::PromoteTo(d32, hn::LoadU(d8_part, from)));
    };
    return many_taps(load, weights, weight_step, taps);
  }
  auto sum = hn::Zero(d);
  HWY_UNROLL(8)
  for (int k = 0; k < (kTaps == 0 ? taps : kTaps); ++k, source += stride, weights += weight_step) {
    const auto pixels = hn::ShiftLeft<kFraction>(hn::PromoteTo(d, hn::LoadU(d8, source)));
    sum = hn::SaturatedAdd(sum, hn::MulFixedPoint15(pixels, hn::Set(d, *weights)));
  }
  return sum;
}

// Samples [first, end) of eight rows of the band, from `row`, to their part of the columns.
template <int kTaps>
HWY_INLINE void vertical_rows(const Band& band, const BandSource& from, size_t first, size_t end, int row) {
  const Lanes d;
  const AxisWeights& axis = *from.vertical;
  const uint8_t* source[kBlock];
  const int16_t* weights[kBlock];
  const int taps = axis.taps();
  for (size_t r = 0; r < kBlock; ++r) {  // rows behind the band's end repeat its last one, and nobody reads them
    const int wanted = band.first_row + HWY_MIN(row + static_cast<int>(r), band.rows - 1);
    source[r] = from.first + from.stride_bytes * static_cast<size_t>(axis.start(wanted));
    weights[r] = axis.weights(wanted);
  }
  for (size_t at = first; at < end; at += kLanes) {
    Vector a[kBlock], b[kBlock];
    HWY_UNROLL(8)
    for (size_t r = 0; r < kBlock; ++r)
      a[r] = vertical_sum<kTaps>(source[r] + at, from.stride_bytes, weights[r], axis.stride(), taps);
    shuffle_round<kBlock>(d, a, b);
    shuffle_round<kBlock>(d, b, a);
    shuffle_round<kBlock>(d, a, b);
    int16_t* to = from.columns + at * kBandRows + row;
    HWY_UNROLL(8)
    for (size_t c = 0; c < kBlock; ++c) store_pieces<kBlock>(d, b[c], to + c * kBandRows, kBlock * kBandRows);
  }
}

// The weighted sums of wanted pixel x for kCount columns that share their weights, for the rows from `part`.
template <size_t kCount>
HWY_INLINE void horizontal_sums(const AxisWeights& axis, int x, const int16_t* const (&columns)[kCount], size_t step,
                                Vector (&sums)[kCount]) {
  const Lanes d;
  const int16_t* weights = axis.weights(x);
  const int taps = axis.taps();
  const size_t start = static_cast<size_t>(axis.start(x)) * step;
  if (HWY_UNLIKELY(taps > kTapsFew)) {
    for (size_t i = 0; i < kCount; ++i) {
      const auto load = [column = columns[i] + start, step](int k, size_t part, auto d32) HWY_ATTR {
        const hn::Rebind<int16_t, decltype(d32)> d16;
        return hn::PromoteTo(d32, hn::LoadU(d16, column + static_cast<size_t>(k) * step + part));
      };
      sums[i] = many_taps(load, weights, axis.stride(), taps);
    }
    return;
  }
  HWY_UNROLL(3)
  for (size_t i = 0; i < kCount; ++i) sums[i] = hn::Zero(d);
  size_t at = start;
  for (int k = 0; k < taps; ++k, at += step, weights += axis.stride()) {
    const auto weight = hn::Set(d, *weights);
    HWY_UNROLL(3)
    for (size_t i = 0; i < kCount; ++i) {
      sums[i] = hn::SaturatedAdd(sums[i], hn::MulFixedPoint15(hn::Load(d, columns[i] + at), weight));
    }
  }
}

// The result's columns lie in tiles of 32, so that vectors of any length turn them back with shuffles within 128 bits:
// the tile's lines of 64 bytes hold column i's first 16 rows, column i + 16's, then the other 16 rows of both.
constexpr size_t kTile = 32, kLine = 64;

HWY_INLINE uint8_t* turned_column(uint8_t* turned, size_t column) {
  return turned + column / kTile * (kTile * kBandRows) + column % 16 * kLine + column / 16 % 2 * 16;
}

// Rows from `part` of one column, rounded to 8 bits.
HWY_INLINE void store_rounded(Vector sum, uint8_t* column, size_t part) {
  const Lanes d;
  const hn::Rebind<uint8_t, Lanes> d8;
  const auto half = hn::Set(d, int16_t{1 << (kFraction - 1)});
  const auto bytes = hn::DemoteTo(d8, hn::ShiftRight<kFraction>(hn::SaturatedAdd(sum, half)));
  store_pieces<16>(d8, bytes, column + part / 16 * 32 + part % 16, 32);
}

struct Rgb {
  Vector red, green, blue;
};

HWY_INLINE Rgb rgb_of(Vector luma, Vector cb, Vector cr) {
  const Lanes d;
  const auto middle = hn::Set(d, kMiddle);
  cb = hn::Sub(cb, middle);
  cr = hn::Sub(cr, middle);
  const auto times = [d](Vector v, int16_t factor) HWY_ATTR { return hn::MulFixedPoint15(v, hn::Set(d, factor)); };
  const auto green = hn::Add(times(cb, kGreenFromCb), times(cr, kGreenFromCr));
  return {hn::SaturatedAdd(luma, hn::Add(cr, times(cr, kRedFromCr))), hn::SaturatedAdd(luma, green),
          hn::SaturatedAdd(luma, hn::Add(cb, times(cb, kBlueFromCb)))};
}

// Luma is added behind what may be negative, so that sums which leave 16 bits are beyond black or white in any case.
HWY_INLINE Rgb tagged_rgb_of(const TaggedColours& by, Vector luma, Vector cb, Vector cr) {
  const Lanes d;
  const auto middle = hn::Set(d, kMiddle);
  cb = hn::Sub(cb, middle);
  cr = hn::Sub(cr, middle);
  const auto times = [d](Vector v, int16_t factor) HWY_ATTR { return hn::MulFixedPoint15(v, hn::Set(d, factor)); };
  const auto more = hn::Sub(times(luma, by.luma), hn::Set(d, by.black));
  const auto red = hn::SaturatedAdd(hn::SaturatedAdd(cr, times(cr, by.red_from_cr)), more);
  const auto green = hn::SaturatedAdd(hn::SaturatedAdd(times(cb, by.green_from_cb), times(cr, by.green_from_cr)), more);
  const auto blue = hn::SaturatedAdd(hn::SaturatedAdd(cb, times(cb, by.blue_from_cb)), more);
  return {hn::SaturatedAdd(luma, red), hn::SaturatedAdd(luma, green),
          hn::SaturatedAdd(hn::SaturatedAdd(luma, blue), cb)};
}

HWY_INLINE Vector tagged_grey_of(const TaggedColours& by, Vector luma) {
  const Lanes d;
  const auto more = hn::Sub(hn::MulFixedPoint15(luma, hn::Set(d, by.luma)), hn::Set(d, by.black));
  return hn::SaturatedAdd(luma, more);
}

template <Band::Colours kColours, bool kTagged>
HWY_INLINE Rgb horizontal_pixel(const Band& band, int x, size_t part) {
  const BandSource& first = band.sources[0];
  const int16_t* columns = first.columns + part;
  if constexpr (kColours == Band::Colours::kRgb) {
    const int16_t* const rgb[3] = {columns, columns + kBandRows, columns + 2 * kBandRows};
    Vector sums[3];
    horizontal_sums(*first.horizontal, x, rgb, 3 * kBandRows, sums);
    return {sums[0], sums[1], sums[2]};
  } else {
    const int16_t* const one[1] = {columns};
    Vector luma[1], chroma[2];
    horizontal_sums(*first.horizontal, x, one, kBandRows, luma);
    if constexpr (kColours == Band::Colours::kGrey) {
      const Vector grey = kTagged ? tagged_grey_of(*band.tagged, luma[0]) : luma[0];
      return {grey, grey, grey};
    }
    const int16_t* const both[2] = {band.sources[1].columns + part, band.sources[2].columns + part};
    horizontal_sums(*band.sources[1].horizontal, x, both, kBandRows, chroma);
    return kTagged ? tagged_rgb_of(*band.tagged, luma[0], chroma[0], chroma[1]) : rgb_of(luma[0], chroma[0], chroma[1]);
  }
}

template <Band::Colours kColours, bool kTagged = false>
HWY_NOINLINE void horizontal_columns(const Band& band) {
  const ColourColumns columns(band.layout);
  Ahead ahead(band, kColours == Band::Colours::kYcc ? 3 : kColours == Band::Colours::kGrey ? 1 : 0);
  const int lines = Ahead::lines_a_pixel(band);
  size_t column = 0;
  for (int x = 0; x < band.layout.width; ++x, column += columns.step) {
    uint8_t* red = turned_column(band.turned, column);
    uint8_t* green = turned_column(band.turned, column + columns.green);
    uint8_t* blue = turned_column(band.turned, column + columns.blue);
    ahead.ask(lines);
    for (size_t part = 0; part < kBandRows; part += kLanes) {
      const Rgb pixel = horizontal_pixel<kColours, kTagged>(band, x, part);
      store_rounded(pixel.red, red, part);
      store_rounded(pixel.green, green, part);
      store_rounded(pixel.blue, blue, part);
    }
  }
}

HWY_NOINLINE void turn_back(const Band& band) {
  constexpr size_t kBytes = 2 * kLanes;  // of a vector
  const hn::FixedTag<uint8_t, kBytes> d;
  const size_t bytes = band.layout.bytes();
  for (size_t at = 0; at < bytes; at += kTile) {
    for (size_t part = 0; part < kLine; part += kBytes) {
      const uint8_t* from = band.turned + at * kBandRows + part;
      hn::Vec<decltype(d)> a[16], b[16];
      HWY_UNROLL(16)
      for (size_t c = 0; c < 16; ++c) a[c] = hn::Load(d, from + c * kLine);
      shuffle_round<16>(d, a, b);
      shuffle_round<16>(d, b, a);
      shuffle_round<16>(d, a, b);
      shuffle_round<16>(d, b, a);
      uint8_t* to = band.out + part / 32 * 16 * bytes + at + part % 32;
      HWY_UNROLL(16)
      for (size_t r = 0; r < 16; ++r) store_pieces<32>(d, a[r], to + r * bytes, 16 * bytes);
    }
  }
}

// All rows of a stretch of columns that the nearest cache holds, then all rows of the next stretch.
template <int kTaps>
HWY_NOINLINE void vertical_columns(const Band& band, const BandSource& from, size_t samples) {
  constexpr size_t kStretch = 256;
  for (size_t first = 0; first < samples; first += kStretch) {
    const size_t end = HWY_MIN(first + kStretch, samples);
    for (int row = 0; row < band.rows; row += static_cast<int>(kBlock)) {
      vertical_rows<kTaps>(band, from, first, end, row);
    }
  }
}

void vertical_pass(const Band& band, const BandSource& from, int channels) {
  const auto samples = static_cast<size_t>(from.width() * channels);
  switch (from.vertical->taps()) {
    case 2:
      return vertical_columns<2>(band, from, samples);
    case 3:
      return vertical_columns<3>(band, from, samples);
    case 4:
      return vertical_columns<4>(band, from, samples);
    default:
      return vertical_columns<0>(band, from, samples);
  }
}

void band_kernel(const Band& band) {
  vertical_pass(band, band.sources[0], band.colours == Band::Colours::kRgb ? 3 : 1);
  switch (band.colours) {
    case Band::Colours::kRgb:
      horizontal_columns<Band::Colours::kRgb>(band);
      break;
    case Band::Colours::kGrey:
      band.tagged != nullptr ? horizontal_columns<Band::Colours::kGrey, true>(band)
                             : horizontal_columns<Band::Colours::kGrey>(band);
      break;
    case Band::Colours::kYcc:
      vertical_pass(band, band.sources[1], 1);
      vertical_pass(band, band.sources[2], 1);
      band.tagged != nullptr ? horizontal_columns<Band::Colours::kYcc, true>(band)
                             : horizontal_columns<Band::Colours::kYcc>(band);
      break;
  }
  turn_back(band);
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

namespace {

int16_t fixed(double value, int bits) { return static_cast<int16_t>(std::lround(std::ldexp(value, bits))); }

}  // namespace

TaggedColours fixed_colours(const PlanesColours& colours) {
  return {.luma = fixed(colours.luma_scale - 1, 15),
          .red_from_cr = fixed(colours.red_from_cr - 1, 15),
          .green_from_cb = fixed(colours.green_from_cb, 15),
          .green_from_cr = fixed(colours.green_from_cr, 15),
          .blue_from_cb = fixed(colours.blue_from_cb - 2, 15),
          .black = fixed(colours.black * colours.luma_scale, kFraction)};
}

HWY_EXPORT(band_kernel);

void resample_band(const Band& band) { HWY_DYNAMIC_DISPATCH(band_kernel)(band); }

}  // namespace spdld::image
#endif  // HWY_ONCE
