#include "daemon/media/image/kernels/tensor_rows.h"

#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/kernels/tensor_rows.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SPDLD_TRANSFORM_TENSOR_ROWS_ONCE
#define SPDLD_TRANSFORM_TENSOR_ROWS_ONCE
namespace spdld::image {
namespace {
constexpr size_t kStreamBytesMin = 256 << 10;  // of a tensor; batches of smaller ones may stay in a cache until read
}
}  // namespace spdld::image
#endif

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

// Past the caches or not: a batch is larger than they are, and nobody here reads it again.
template <bool kStream, class D>
HWY_INLINE void put(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  if constexpr (kStream) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

// How each type of element is stored from floats.
struct Float32 {
  using Element = float;
  template <bool kStream>
  static HWY_INLINE void store(FloatVector v, float* to) {
    put<kStream>(v, Floats(), to);
  }
};
#if (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2) || HWY_TARGET >= HWY_EMU128
// Without an instruction for it, Highway's own conversion cuts off. To nearest, ties to even; beyond 65504 infinity.
// A value below 2^-14 has fewer bits: adding 0.5 to it lets the float unit round it at 2^-24.
struct Float16 {
  using Element = uint16_t;
  template <bool kStream>
  static HWY_INLINE void store(FloatVector v, uint16_t* to) {
    const Floats df;
    const hn::RebindToSigned<Floats> di;
    const hn::Rebind<uint16_t, Floats> d;
    const auto magnitude = hn::Abs(v);
    const auto sign = hn::ShiftRight<16>(hn::And(hn::BitCast(di, v), hn::Set(di, INT32_MIN)));
    const auto bits = hn::BitCast(di, magnitude);
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(di, 1));
    const auto rebiased = hn::Add(bits, hn::Set(di, 0xFFF - (112 << 23)));
    const auto normal = hn::ShiftRight<13>(hn::Add(rebiased, odd));
    const auto half = hn::Set(df, 0.5f);
    const auto small = hn::Sub(hn::BitCast(di, hn::Add(magnitude, half)), hn::BitCast(di, half));
    const auto finite = hn::IfThenElse(hn::Lt(bits, hn::Set(di, 113 << 23)), small, normal);
    const auto number = hn::Min(finite, hn::Set(di, 0x7C00));
    const auto is_nan = hn::Gt(bits, hn::Set(di, 0x7F800000));
    const auto result = hn::IfThenElse(is_nan, hn::Set(di, 0x7E00), number);
    const auto with_sign = hn::Or(result, hn::And(sign, hn::Set(di, 0x8000)));
    put<kStream>(hn::DemoteTo(d, with_sign), d, to);
  }
};
#else
struct Float16 {
  using Element = hwy::float16_t;
  template <bool kStream>
  static HWY_INLINE void store(FloatVector v, hwy::float16_t* to) {
    const hn::Rebind<hwy::float16_t, Floats> d;
    put<kStream>(hn::DemoteTo(d, v), d, to);
  }
};
#endif
struct Bfloat16 {  // the upper half of a float, rounded to nearest, ties to even
  using Element = uint16_t;
  template <bool kStream>
  static HWY_INLINE void store(FloatVector v, uint16_t* to) {
    const hn::RebindToUnsigned<Floats> du;
    const hn::RebindToSigned<Floats> di;
    const hn::Rebind<uint16_t, Floats> d;
    const auto bits = hn::BitCast(du, v);
    const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(even, hn::Set(du, 0x7FFFu))));
    // Rounding may carry a NaN beyond all exponents.
    const auto is_nan = hn::Gt(hn::And(bits, hn::Set(du, 0x7FFFFFFFu)), hn::Set(du, 0x7F800000u));
    const auto result = hn::IfThenElse(is_nan, hn::Set(du, 0x7FC0u), rounded);
    put<kStream>(hn::DemoteTo(d, hn::BitCast(di, result)), d, to);
  }
};

template <class Values>
HWY_INLINE FloatVector affine(Values values, FloatVector factor, FloatVector offset) {
  if constexpr (std::is_same_v<Values, FloatVector>) {
    return hn::MulAdd(values, factor, offset);
  } else {
    const hn::RebindToSigned<Floats> di;
    return hn::MulAdd(hn::ConvertTo(Floats(), hn::PromoteTo(di, values)), factor, offset);
  }
}

// Calls step(x) so that [x, x + lanes) covers [0, width), the last time overlapping the one before.
template <class Step>
HWY_INLINE bool over_row(int width, Step step) {
  const int lanes = static_cast<int>(hn::Lanes(Floats()));
  if (width < lanes) return false;
  for (int x = 0; x + lanes <= width; x += lanes) step(x);
  if (width % lanes != 0) step(width - lanes);
  return true;
}

// Elements from a channel's plane to the next one's.
size_t plane_step(const TensorFormat& format) {
  return static_cast<size_t>(format.size.width) * static_cast<size_t>(format.size.height) *
         static_cast<size_t>(format.planes_apart);
}

// The kinds of pixels; only the most common kind is read in planes and streamed.
template <class SampleType, size_t kChannelCount>
struct PixelKind {
  using Sample = SampleType;
  static constexpr size_t kChannels = kChannelCount;
  static constexpr bool kIsCommon = sizeof(Sample) == 1 && kChannels == 3;
};

template <class Pixel, class Store, bool kPlanar, bool kStream>
HWY_INLINE void planes_row(const TensorFormat& format, const typename Pixel::Sample* row, size_t row_plane,
                           typename Store::Element* out, size_t plane, int width) {
  const Floats d;
  const hn::Rebind<typename Pixel::Sample, Floats> ds;
  const auto red_factor = hn::Set(d, format.factor[0]), red_offset = hn::Set(d, format.offset[0]);
  const auto green_factor = hn::Set(d, format.factor[1]), green_offset = hn::Set(d, format.offset[1]);
  const auto blue_factor = hn::Set(d, format.factor[2]), blue_offset = hn::Set(d, format.offset[2]);
  const auto alpha_factor = hn::Set(d, format.factor[3]), alpha_offset = hn::Set(d, format.offset[3]);
  const auto step = [&](int x) HWY_ATTR {
    hn::Vec<decltype(ds)> red, green, blue, alpha;
    if constexpr (Pixel::kChannels == 1) {
      red = hn::LoadU(ds, row + x);
    } else if constexpr (Pixel::kChannels == 4) {
      hn::LoadInterleaved4(ds, row + 4 * x, red, green, blue, alpha);
    } else if constexpr (kPlanar) {
      red = hn::LoadU(ds, row + x);
      green = hn::LoadU(ds, row + row_plane + x);
      blue = hn::LoadU(ds, row + 2 * row_plane + x);
    } else {
      hn::LoadInterleaved3(ds, row + 3 * x, red, green, blue);
    }
    Store::template store<kStream>(affine(red, red_factor, red_offset), out + x);
    if constexpr (Pixel::kChannels > 1) {
      Store::template store<kStream>(affine(green, green_factor, green_offset), out + plane + x);
      Store::template store<kStream>(affine(blue, blue_factor, blue_offset), out + 2 * plane + x);
    }
    if constexpr (Pixel::kChannels == 4)
      Store::template store<kStream>(affine(alpha, alpha_factor, alpha_offset), out + 3 * plane + x);
  };
  over_row(width, step);
}

template <class Pixel, class Store, bool kStream>
HWY_INLINE void pixels_row(const TensorFormat& format, const typename Pixel::Sample* row, typename Store::Element* out,
                           int width) {
  constexpr size_t kChannels = Pixel::kChannels;
  const Floats d;
  const hn::Rebind<typename Pixel::Sample, Floats> ds;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float factor[kChannels * 16], offset[kChannels * 16];
  for (size_t i = 0; i < kChannels * lanes; ++i) {
    factor[i] = format.factor[i % kChannels];
    offset[i] = format.offset[i % kChannels];
  }
  const auto step = [&](int x) HWY_ATTR {
    for (size_t i = 0; i < kChannels; ++i) {
      const size_t at = static_cast<size_t>(x) * kChannels + i * lanes;
      Store::template store<kStream>(
          affine(hn::LoadU(ds, row + at), hn::Load(d, factor + i * lanes), hn::Load(d, offset + i * lanes)), out + at);
    }
  };
  over_row(width, step);
}

// Rows narrower than a vector go through a padded copy.
template <class Pixel, class Store>
void narrow_row(const TensorFormat& format, const typename Pixel::Sample* row, typename Store::Element* out,
                size_t plane, int width) {
  using Element = typename Store::Element;
  using Sample = typename Pixel::Sample;
  constexpr size_t kChannels = Pixel::kChannels;
  const int lanes = static_cast<int>(hn::Lanes(Floats()));
  Sample padded[kChannels * 16 + 64] = {};
  HWY_ALIGN Element wide[kChannels * 16];
  const auto count = static_cast<size_t>(width);
  std::memcpy(padded, row, count * kChannels * sizeof(Sample));
  if (format.layout == config::Layout::kNhwc) {
    pixels_row<Pixel, Store, false>(format, padded, wide, lanes);
    std::memcpy(out, wide, count * kChannels * sizeof(Element));
    return;
  }
  planes_row<Pixel, Store, false, false>(format, padded, 0, wide, static_cast<size_t>(lanes), lanes);
  for (size_t c = 0; c < kChannels; ++c)
    std::memcpy(out + c * plane, wide + c * static_cast<size_t>(lanes), count * sizeof(Element));
}

template <class Pixel, class Store, bool kStream>
void float_rows(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out) {
  using Element = typename Store::Element;
  using Sample = typename Pixel::Sample;
  const auto width = static_cast<size_t>(format.size.width);
  const size_t plane = plane_step(format);
  const bool planes = format.layout == config::Layout::kNchw;
  const size_t out_row = (planes ? 1 : Pixel::kChannels) * width;
  const uint8_t* bytes = from.first;
  auto* to = reinterpret_cast<Element*>(out) + out_row * static_cast<size_t>(first_row);
  for (int y = 0; y < rows; ++y, bytes += from.stride_bytes, to += out_row) {
    const auto* row = reinterpret_cast<const Sample*>(bytes);
    if (width < hn::Lanes(Floats())) {
      narrow_row<Pixel, Store>(format, row, to, plane, format.size.width);
    } else if (!planes) {
      pixels_row<Pixel, Store, kStream>(format, row, to, format.size.width);
    } else if (!Pixel::kIsCommon || from.plane_bytes == 0) {
      planes_row<Pixel, Store, false, kStream>(format, row, 0, to, plane, format.size.width);
    } else if constexpr (Pixel::kIsCommon) {
      planes_row<Pixel, Store, true, kStream>(format, row, from.plane_bytes, to, plane, format.size.width);
    }
  }
}

// Values as they are, from interleaved pixels to planes.
template <class Pixel>
HWY_INLINE void split_row(const typename Pixel::Sample* row, typename Pixel::Sample* to, size_t plane, size_t width) {
  constexpr size_t kChannels = Pixel::kChannels;
  const hn::CappedTag<typename Pixel::Sample, 16> d;
  const size_t lanes = hn::Lanes(d);
  size_t x = 0;
  for (; x + lanes <= width; x += lanes) {
    hn::Vec<decltype(d)> red, green, blue, alpha;
    if constexpr (kChannels == 3) {
      hn::LoadInterleaved3(d, row + 3 * x, red, green, blue);
    } else {
      hn::LoadInterleaved4(d, row + 4 * x, red, green, blue, alpha);
      hn::StoreU(alpha, d, to + 3 * plane + x);
    }
    hn::StoreU(red, d, to + x);
    hn::StoreU(green, d, to + plane + x);
    hn::StoreU(blue, d, to + 2 * plane + x);
  }
  for (; x < width; ++x) {
    for (size_t c = 0; c < kChannels; ++c) to[c * plane + x] = row[kChannels * x + c];
  }
}

template <class Pixel>
void plain_rows(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out) {
  using Sample = typename Pixel::Sample;
  constexpr size_t kChannels = Pixel::kChannels;
  const auto width = static_cast<size_t>(format.size.width);
  const size_t plane = plane_step(format);
  const uint8_t* bytes = from.first;
  for (int y = first_row; y < first_row + rows; ++y, bytes += from.stride_bytes) {
    if (format.layout == config::Layout::kNhwc || kChannels == 1) {
      const size_t row_bytes = kChannels * width * sizeof(Sample);
      std::memcpy(out + row_bytes * static_cast<size_t>(y), bytes, row_bytes);
      continue;
    }
    auto* to = reinterpret_cast<Sample*>(out) + width * static_cast<size_t>(y);
    if (from.plane_bytes != 0) {
      for (size_t c = 0; c < kChannels; ++c) std::memcpy(to + c * plane, bytes + c * from.plane_bytes, width);
    } else if constexpr (kChannels > 1) {
      split_row<Pixel>(reinterpret_cast<const Sample*>(bytes), to, plane, width);
    }
  }
}

template <class Pixel, class Store>
void float_rows(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out) {
  constexpr size_t kLine = 64;
  const size_t row_bytes = static_cast<size_t>(format.size.width) * sizeof(typename Store::Element);
  const size_t bytes = 3 * row_bytes * static_cast<size_t>(format.size.height);
  if constexpr (Pixel::kIsCommon) {
    if (bytes >= kStreamBytesMin && row_bytes % kLine == 0 && reinterpret_cast<uintptr_t>(out) % kLine == 0) {
      return float_rows<Pixel, Store, true>(format, from, first_row, rows, out);
    }
  }
  float_rows<Pixel, Store, false>(format, from, first_row, rows, out);
}

template <class Pixel>
void rows_of(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out) {
  switch (format.dtype) {
    case config::DType::kFloat32:
      return float_rows<Pixel, Float32>(format, from, first_row, rows, out);
    case config::DType::kFloat16:
      return float_rows<Pixel, Float16>(format, from, first_row, rows, out);
    case config::DType::kBfloat16:
      return float_rows<Pixel, Bfloat16>(format, from, first_row, rows, out);
    default:
      return plain_rows<Pixel>(format, from, first_row, rows, out);
  }
}

void rows_kernel(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out) {
  if (format.pixels.sample_bytes == 4) {
    return format.pixels.channels == 1 ? rows_of<PixelKind<float, 1>>(format, from, first_row, rows, out)
                                       : rows_of<PixelKind<float, 3>>(format, from, first_row, rows, out);
  }
  const bool deep = format.pixels.sample_bytes == 2;
  switch (format.pixels.channels) {
    case 1:
      return deep ? rows_of<PixelKind<uint16_t, 1>>(format, from, first_row, rows, out)
                  : rows_of<PixelKind<uint8_t, 1>>(format, from, first_row, rows, out);
    case 4:
      return deep ? rows_of<PixelKind<uint16_t, 4>>(format, from, first_row, rows, out)
                  : rows_of<PixelKind<uint8_t, 4>>(format, from, first_row, rows, out);
    default:
      return deep ? rows_of<PixelKind<uint16_t, 3>>(format, from, first_row, rows, out)
                  : rows_of<PixelKind<uint8_t, 3>>(format, from, first_row, rows, out);
  }
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(rows_kernel);

size_t bytes_of(const TensorFormat& format) {
  const auto pixels = static_cast<size_t>(format.size.width) * static_cast<size_t>(format.size.height);
  return static_cast<size_t>(format.pixels.channels) * pixels * config::dtype_bytes(format.dtype);
}

size_t step_bytes(const TensorFormat& format) {
  const size_t bytes = bytes_of(format);
  return format.planes_apart == 1 ? bytes : bytes / static_cast<size_t>(format.pixels.channels);
}

void write_rows(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(rows_kernel)(format, from, first_row, rows, out);
}

void flush_rows() { hwy::FlushStream(); }

bool prefers_planes(const TensorFormat& format) {
  constexpr int kLanesMost = 16;  // of a vector of floats; narrower rows are copied and padded, as pixels
  return format.layout == config::Layout::kNchw && format.size.width >= kLanesMost && format.pixels == PixelFormat();
}

}  // namespace spdld::image
#endif  // HWY_ONCE
