#include "daemon/media/image/kernels/colour_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/kernels/colour_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// jdcolor.c multiplies by 16-bit fractions: 1.402, 1.772, -0.344136 and -0.714136. Here the whole numbers next to them
// are taken off, so that each fraction fits into 16 bits with its sign.
constexpr int16_t kRedFromCr = 26'345;     // 1.402 - 1
constexpr int16_t kBlueFromCb = -14'942;   // 1.772 - 2
constexpr int16_t kGreenFromCb = -22'554;  // -0.344136
constexpr int16_t kGreenFromCr = 18'734;   // -0.714136 + 1

using Words = hn::CappedTag<int16_t, 16>;
using Pixels = hn::Rebind<uint8_t, Words>;
using Word = hn::Vec<Words>;

using Samples = hn::CappedTag<uint16_t, kRowSlack>;

void mix_kernel(const uint8_t* own, const uint8_t* next, size_t count, uint16_t* out) {
  const Samples d;
  const hn::Rebind<uint8_t, Samples> bytes;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto sample = hn::PromoteTo(d, hn::LoadU(bytes, own + i));
    const auto other = hn::PromoteTo(d, hn::LoadU(bytes, next + i));
    hn::StoreU(hn::Add(hn::Add(sample, hn::Add(sample, sample)), other), d, out + i);
  }
}

template <int kShift>
HWY_INLINE void widen(const uint16_t* samples, size_t count, uint16_t* out) {
  constexpr uint16_t kEven = kShift == 4 ? 8 : 1, kOdd = kShift == 4 ? 7 : 2;
  const Samples d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto sample = hn::LoadU(d, samples + i);
    const auto own = hn::Add(sample, hn::Add(sample, sample));
    const auto before = hn::Add(hn::LoadU(d, samples + i - 1), hn::Set(d, kEven));
    const auto behind = hn::Add(hn::LoadU(d, samples + i + 1), hn::Set(d, kOdd));
    const auto even = hn::ShiftRight<kShift>(hn::Add(own, before));
    const auto odd = hn::ShiftRight<kShift>(hn::Add(own, behind));
    hn::StoreU(hn::Or(even, hn::ShiftLeft<8>(odd)), d, out + i);
  }
}

void widen_kernel(const uint16_t* samples, size_t count, bool mixed, uint16_t* out) {
  mixed ? widen<4>(samples, count, out) : widen<2>(samples, count, out);
}

// (value * factor + 2^15) >> 16, of a value of 8 bits and a sign.
HWY_INLINE Word times(Word value, int16_t factor) {
  const Words d;
  const auto doubled = hn::MulHigh(hn::Add(value, value), hn::Set(d, factor));
  return hn::ShiftRight<1>(hn::Add(doubled, hn::Set(d, 1)));
}

// (cb * kGreenFromCb + cr * kGreenFromCr + 2^15) >> 16: the products' upper halves, and what their lower ones carry.
HWY_INLINE Word green_of(Word cb, Word cr) {
  const Words d;
  const hn::RebindToUnsigned<Words> du;
  const auto by_cb = hn::Set(d, kGreenFromCb), by_cr = hn::Set(d, kGreenFromCr);
  const auto upper = hn::Add(hn::MulHigh(cb, by_cb), hn::MulHigh(cr, by_cr));
  const auto first = hn::BitCast(du, hn::Mul(cb, by_cb)), second = hn::BitCast(du, hn::Mul(cr, by_cr));
  const auto sum_is_odd = hn::And(hn::Xor(first, second), hn::Set(du, 1));
  const auto half = hn::Sub(hn::AverageRound(first, second), sum_is_odd);
  const auto carry = hn::ShiftRight<1>(hn::Add(hn::ShiftRight<14>(half), hn::Set(du, 1)));
  return hn::Add(upper, hn::BitCast(d, carry));
}

HWY_INLINE void rgb_pixels(const uint8_t* luma, const uint8_t* cb_row, const uint8_t* cr_row, uint8_t* out) {
  const Pixels bytes;
  const Words d;
  const auto no_colour = hn::Set(d, 128);
  const auto y = hn::PromoteTo(d, hn::LoadU(bytes, luma));
  const auto cb = hn::Sub(hn::PromoteTo(d, hn::LoadU(bytes, cb_row)), no_colour);
  const auto cr = hn::Sub(hn::PromoteTo(d, hn::LoadU(bytes, cr_row)), no_colour);
  const auto red = hn::Add(hn::Add(y, cr), times(cr, kRedFromCr));
  const auto green = hn::Add(hn::Sub(y, cr), green_of(cb, cr));
  const auto blue = hn::Add(hn::Add(y, hn::Add(cb, cb)), times(cb, kBlueFromCb));
  hn::StoreInterleaved3(hn::DemoteTo(bytes, red), hn::DemoteTo(bytes, green), hn::DemoteTo(bytes, blue), bytes, out);
}

void rgb_kernel(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, size_t count, uint8_t* out) {
  constexpr size_t kMost = hn::MaxLanes(Pixels());
  const size_t lanes = hn::Lanes(Pixels());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) rgb_pixels(luma + i, cb + i, cr + i, out + 3 * i);
  if (i == count) return;
  uint8_t last[3][kMost] = {}, rgb[3 * kMost];
  std::memcpy(last[0], luma + i, count - i);
  std::memcpy(last[1], cb + i, count - i);
  std::memcpy(last[2], cr + i, count - i);
  rgb_pixels(last[0], last[1], last[2], rgb);
  std::memcpy(out + 3 * i, rgb, 3 * (count - i));
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(mix_kernel);
HWY_EXPORT(widen_kernel);
HWY_EXPORT(rgb_kernel);

void mix_rows(const uint8_t* own, const uint8_t* next, size_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(mix_kernel)(own, next, count, out);
}
void widen_row(const uint16_t* samples, size_t count, bool mixed, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(widen_kernel)(samples, count, mixed, out);
}
void rgb_row(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(rgb_kernel)(luma, cb, cr, count, out);
}

}  // namespace spdld::image
#endif  // HWY_ONCE
