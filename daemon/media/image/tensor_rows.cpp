#include "daemon/media/image/tensor_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/tensor_rows.cpp"
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
    const auto result = hn::Min(finite, hn::Set(di, 0x7C00));
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
    put<kStream>(hn::DemoteTo(d, hn::BitCast(di, rounded)), d, to);
  }
};

template <class V8>
HWY_INLINE FloatVector affine(V8 values, FloatVector factor, FloatVector offset) {
  const hn::RebindToSigned<Floats> di;
  return hn::MulAdd(hn::ConvertTo(Floats(), hn::PromoteTo(di, values)), factor, offset);
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

template <class Store, bool kPlanar, bool kStream>
HWY_INLINE void planes_row(const TensorFormat& format, const uint8_t* rgb, size_t rgb_plane,
                           typename Store::Element* out, size_t plane, int width) {
  const Floats d;
  const hn::Rebind<uint8_t, Floats> d8;
  const auto red_factor = hn::Set(d, format.factor[0]), red_offset = hn::Set(d, format.offset[0]);
  const auto green_factor = hn::Set(d, format.factor[1]), green_offset = hn::Set(d, format.offset[1]);
  const auto blue_factor = hn::Set(d, format.factor[2]), blue_offset = hn::Set(d, format.offset[2]);
  const auto step = [&](int x) HWY_ATTR {
    hn::Vec<decltype(d8)> red, green, blue;
    if constexpr (kPlanar) {
      red = hn::LoadU(d8, rgb + x);
      green = hn::LoadU(d8, rgb + rgb_plane + x);
      blue = hn::LoadU(d8, rgb + 2 * rgb_plane + x);
    } else {
      hn::LoadInterleaved3(d8, rgb + 3 * x, red, green, blue);
    }
    Store::template store<kStream>(affine(red, red_factor, red_offset), out + x);
    Store::template store<kStream>(affine(green, green_factor, green_offset), out + plane + x);
    Store::template store<kStream>(affine(blue, blue_factor, blue_offset), out + 2 * plane + x);
  };
  over_row(width, step);
}

template <class Store, bool kStream>
HWY_INLINE void pixels_row(const TensorFormat& format, const uint8_t* rgb, typename Store::Element* out, int width) {
  const Floats d;
  const hn::Rebind<uint8_t, Floats> d8;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float factor[3 * 16], offset[3 * 16];
  for (size_t i = 0; i < 3 * lanes; ++i) factor[i] = format.factor[i % 3], offset[i] = format.offset[i % 3];
  const auto step = [&](int x) HWY_ATTR {
    for (size_t i = 0; i < 3; ++i) {
      const size_t at = static_cast<size_t>(x) * 3 + i * lanes;
      Store::template store<kStream>(
          affine(hn::LoadU(d8, rgb + at), hn::Load(d, factor + i * lanes), hn::Load(d, offset + i * lanes)), out + at);
    }
  };
  over_row(width, step);
}

// Rows narrower than a vector go through a padded copy.
template <class Store>
void narrow_row(const TensorFormat& format, const uint8_t* rgb, typename Store::Element* out, size_t plane, int width) {
  using Element = typename Store::Element;
  const int lanes = static_cast<int>(hn::Lanes(Floats()));
  uint8_t padded[3 * 16 + 64] = {};
  HWY_ALIGN Element wide[3 * 16];
  std::memcpy(padded, rgb, static_cast<size_t>(width) * 3);
  if (format.layout == config::Layout::kNhwc) {
    pixels_row<Store, false>(format, padded, wide, lanes);
    std::memcpy(out, wide, static_cast<size_t>(width) * 3 * sizeof(Element));
    return;
  }
  planes_row<Store, false, false>(format, padded, 0, wide, static_cast<size_t>(lanes), lanes);
  for (int c = 0; c < 3; ++c) {
    std::memcpy(out + static_cast<size_t>(c) * plane, wide + c * lanes, static_cast<size_t>(width) * sizeof(Element));
  }
}

template <class Store, bool kStream>
void float_rows(const TensorFormat& format, const RgbRows& from, int first_row, int rows, uint8_t* out) {
  using Element = typename Store::Element;
  const auto width = static_cast<size_t>(format.size.width), plane = width * static_cast<size_t>(format.size.height);
  const bool planes = format.layout == config::Layout::kNchw;
  const uint8_t* rgb = from.first;
  auto* to = reinterpret_cast<Element*>(out) + (planes ? 1 : 3) * width * static_cast<size_t>(first_row);
  for (int y = 0; y < rows; ++y, rgb += from.stride_bytes, to += (planes ? 1 : 3) * width) {
    if (width < hn::Lanes(Floats())) {
      narrow_row<Store>(format, rgb, to, plane, format.size.width);
    } else if (!planes) {
      pixels_row<Store, kStream>(format, rgb, to, format.size.width);
    } else if (from.plane_bytes == 0) {
      planes_row<Store, false, kStream>(format, rgb, 0, to, plane, format.size.width);
    } else {
      planes_row<Store, true, kStream>(format, rgb, from.plane_bytes, to, plane, format.size.width);
    }
  }
}

void byte_rows(const TensorFormat& format, const RgbRows& from, int first_row, int rows, uint8_t* out) {
  const hn::CappedTag<uint8_t, 16> d;
  const size_t lanes = hn::Lanes(d);
  const auto width = static_cast<size_t>(format.size.width), plane = width * static_cast<size_t>(format.size.height);
  const uint8_t* rgb = from.first;
  for (int y = first_row; y < first_row + rows; ++y, rgb += from.stride_bytes) {
    if (format.layout == config::Layout::kNhwc) {
      std::memcpy(out + 3 * width * static_cast<size_t>(y), rgb, 3 * width);
      continue;
    }
    uint8_t* to = out + width * static_cast<size_t>(y);
    if (from.plane_bytes != 0) {
      for (size_t c = 0; c < 3; ++c) std::memcpy(to + c * plane, rgb + c * from.plane_bytes, width);
      continue;
    }
    size_t x = 0;
    for (; x + lanes <= width; x += lanes) {
      hn::Vec<decltype(d)> red, green, blue;
      hn::LoadInterleaved3(d, rgb + 3 * x, red, green, blue);
      hn::StoreU(red, d, to + x);
      hn::StoreU(green, d, to + plane + x);
      hn::StoreU(blue, d, to + 2 * plane + x);
    }
    for (; x < width; ++x) {
      for (size_t c = 0; c < 3; ++c) to[c * plane + x] = rgb[3 * x + c];
    }
  }
}

template <class Store>
void float_rows(const TensorFormat& format, const RgbRows& from, int first_row, int rows, uint8_t* out) {
  constexpr size_t kLine = 64;
  const size_t row_bytes = static_cast<size_t>(format.size.width) * sizeof(typename Store::Element);
  const size_t bytes = 3 * row_bytes * static_cast<size_t>(format.size.height);
  if (bytes >= kStreamBytesMin && row_bytes % kLine == 0 && reinterpret_cast<uintptr_t>(out) % kLine == 0) {
    return float_rows<Store, true>(format, from, first_row, rows, out);
  }
  float_rows<Store, false>(format, from, first_row, rows, out);
}

void rows_kernel(const TensorFormat& format, const RgbRows& from, int first_row, int rows, uint8_t* out) {
  switch (format.dtype) {
    case config::DType::kFloat32:
      return float_rows<Float32>(format, from, first_row, rows, out);
    case config::DType::kFloat16:
      return float_rows<Float16>(format, from, first_row, rows, out);
    case config::DType::kBfloat16:
      return float_rows<Bfloat16>(format, from, first_row, rows, out);
    default:
      return byte_rows(format, from, first_row, rows, out);
  }
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(rows_kernel);

void write_rows(const TensorFormat& format, const RgbRows& from, int first_row, int rows, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(rows_kernel)(format, from, first_row, rows, out);
}

void flush_rows() { hwy::FlushStream(); }

bool prefers_planes(const TensorFormat& format) {
  constexpr int kLanesMost = 16;  // of a vector of floats; narrower rows are copied and padded, as pixels
  return format.layout == config::Layout::kNchw && format.size.width >= kLanesMost;
}

}  // namespace spdld::image
#endif  // HWY_ONCE
