#include "daemon/media/image/adjustments/adjust_rows.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/adjustments/adjust_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "daemon/media/image/kernels/row_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = 16;  // pixels that are taken apart at once

// Values beyond black or white are cut off, and so are fractions.
template <class D>
HWY_INLINE hn::Vec<Ints<D>> values_of(D d, hn::Vec<D> v) {
  return hn::ConvertTo(Ints<D>(), hn::Min(hn::Max(v, hn::Set(d, 0)), hn::Set(d, 255)));
}

// --- blocks of pixels ---

struct Rgb {
  alignas(64) uint8_t channel[3][kBlock];
};

template <class D>
HWY_INLINE hn::Vec<Ints<D>> grey_of(D d, const Rgb& rgb, size_t i) {
  const auto red = hn::Mul(load(d, rgb.channel[0] + i), hn::Set(d, 0.2989F));
  const auto green = hn::Mul(load(d, rgb.channel[1] + i), hn::Set(d, 0.587F));
  const auto blue = hn::Mul(load(d, rgb.channel[2] + i), hn::Set(d, 0.114F));
  return hn::ConvertTo(Ints<D>(), hn::Add(hn::Add(red, green), blue));
}

HWY_INLINE void load_block(const uint8_t* pixels, Rgb& rgb) {
  const hn::CappedTag<uint8_t, kBlock> d;
  for (size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> red, green, blue;
    hn::LoadInterleaved3(d, pixels + 3 * i, red, green, blue);
    hn::Store(red, d, rgb.channel[0] + i);
    hn::Store(green, d, rgb.channel[1] + i);
    hn::Store(blue, d, rgb.channel[2] + i);
  }
}

HWY_INLINE void store_block(const Rgb& rgb, uint8_t* pixels) {
  const hn::CappedTag<uint8_t, kBlock> d;
  for (size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    hn::StoreInterleaved3(hn::Load(d, rgb.channel[0] + i), hn::Load(d, rgb.channel[1] + i),
                          hn::Load(d, rgb.channel[2] + i), d, pixels + 3 * i);
  }
}

// Calls use(pixels of a block); pixels beyond the last one are black, and lost.
template <typename Use>
HWY_INLINE void each_block(uint8_t* pixels, size_t count, const Use& use) {
  for (; count >= kBlock; count -= kBlock, pixels += 3 * kBlock) use(pixels);
  if (count == 0) return;
  uint8_t last[3 * kBlock] = {};
  std::memcpy(last, pixels, 3 * count);
  use(last);
  std::memcpy(pixels, last, 3 * count);
}

// Calls change.run(D, rgb, place of a vector) for all pixels.
template <typename Change>
HWY_INLINE void change_pixels(uint8_t* pixels, size_t count, const Change& change) {
  each_block(pixels, count, [&](uint8_t* block) HWY_ATTR {
    const Floats d;
    Rgb rgb;
    load_block(block, rgb);
    for (size_t i = 0; i < kBlock; i += hn::Lanes(d)) change.run(d, rgb, i);
    store_block(rgb, block);
  });
}

struct MakeGrey {
  template <class D>
  HWY_INLINE void run(D d, Rgb& rgb, size_t i) const {
    const auto grey = grey_of(d, rgb, i);
    for (auto& channel : rgb.channel) store_bytes(d, grey, channel + i);
  }
};

struct Saturate {
  float by, rest;
  template <class D>
  HWY_INLINE void run(D d, Rgb& rgb, size_t i) const {
    const auto grey = hn::Mul(hn::Set(d, rest), hn::ConvertTo(d, grey_of(d, rgb, i)));
    for (auto& channel : rgb.channel)
      store_bytes(d, values_of(d, hn::Add(hn::Mul(load(d, channel + i), hn::Set(d, by)), grey)), channel + i);
  }
};

// Of values from 0 to 1, as Pillow's Convert.c and torchvision compute them; the hue is in parts of a turn.
template <class D>
struct Hsv {
  hn::Vec<D> hue, saturation, value;
};

template <class D>
HWY_INLINE Hsv<D> hsv_of(D d, hn::Vec<D> red, hn::Vec<D> green, hn::Vec<D> blue) {
  const auto most = hn::Max(hn::Max(red, green), blue), least = hn::Min(hn::Min(red, green), blue);
  const auto is_grey = hn::Eq(least, most);
  const auto range = hn::Sub(most, least);
  const auto from_red = hn::Div(hn::Sub(most, red), range);
  const auto from_green = hn::Div(hn::Sub(most, green), range);
  const auto from_blue = hn::Div(hn::Sub(most, blue), range);
  const auto at_green = hn::Sub(hn::Add(from_red, hn::Set(d, 2)), from_blue);
  const auto at_blue = hn::Sub(hn::Add(from_green, hn::Set(d, 4)), from_red);
  const auto sixths = hn::IfThenElse(hn::Eq(most, red), hn::Sub(from_blue, from_green),
                                     hn::IfThenElse(hn::Eq(most, green), at_green, at_blue));
  const auto one = hn::Set(d, 1), hue = hn::Add(hn::Mul(sixths, hn::Set(d, 1.0F / 6)), one);
  const auto within = hn::IfThenElse(hn::Ge(hue, one), hn::Sub(hue, one), hue);
  return {hn::IfThenZeroElse(is_grey, within), hn::IfThenZeroElse(is_grey, hn::Div(range, most)), most};
}

// As torchvision goes from floats to uint8: all of the 256 values have the same share.
template <class D>
HWY_INLINE hn::Vec<Ints<D>> values_of_unit(D d, hn::Vec<D> v) {
  const auto within = hn::Min(hn::Max(v, hn::Set(d, 0)), hn::Set(d, 1));
  return hn::ConvertTo(Ints<D>(), hn::Mul(within, hn::Set(d, 255.999F)));
}

// A turn has six parts. In each part two channels are the largest and the least value, and the third goes up or down.
template <class D>
HWY_INLINE void store_rgb(D d, const Hsv<D>& hsv, Rgb& rgb, size_t i) {
  const auto one = hn::Set(d, 1), sixths = hn::Mul(hsv.hue, hn::Set(d, 6)), sector = hn::Floor(sixths);
  const auto rest = hn::Sub(one, hsv.saturation), part = hn::Mul(hsv.saturation, hn::Sub(sixths, sector));
  const auto v = values_of_unit(d, hsv.value), p = values_of_unit(d, hn::Mul(rest, hsv.value));
  const auto q = values_of_unit(d, hn::Mul(hn::Sub(one, part), hsv.value));
  const auto t = values_of_unit(d, hn::Mul(hn::Add(part, rest), hsv.value));
  const auto numbers = hn::ConvertTo(Ints<D>(), sector);  // 6, where a hue is a whole turn, counts as 0
  const auto is = [&](int number) HWY_ATTR { return hn::Eq(numbers, hn::Set(Ints<D>(), number)); };
  const auto is_1 = is(1), is_2 = is(2), is_3 = is(3), is_4 = is(4), is_5 = is(5);
  const auto red = hn::IfThenElse(is_1, q, hn::IfThenElse(hn::Or(is_2, is_3), p, hn::IfThenElse(is_4, t, v)));
  const auto green =
      hn::IfThenElse(hn::Or(is_1, is_2), v, hn::IfThenElse(is_3, q, hn::IfThenElse(hn::Or(is_4, is_5), p, t)));
  const auto blue = hn::IfThenElse(is_2, t, hn::IfThenElse(hn::Or(is_3, is_4), v, hn::IfThenElse(is_5, q, p)));
  store_bytes(d, red, rgb.channel[0] + i);
  store_bytes(d, green, rgb.channel[1] + i);
  store_bytes(d, blue, rgb.channel[2] + i);
}

struct TurnHue {
  float turn;
  template <class D>
  HWY_INLINE void run(D d, Rgb& rgb, size_t i) const {
    const auto unit = hn::Set(d, 1.0F / 255);
    Hsv<D> hsv = hsv_of(d, hn::Mul(load(d, rgb.channel[0] + i), unit), hn::Mul(load(d, rgb.channel[1] + i), unit),
                        hn::Mul(load(d, rgb.channel[2] + i), unit));
    hsv.hue = hn::Add(hsv.hue, hn::Set(d, turn));
    hsv.hue = hn::Sub(hsv.hue, hn::Floor(hsv.hue));
    store_rgb(d, hsv, rgb, i);
  }
};

uint64_t grey_sum_kernel(const uint8_t* pixels, size_t count) {
  const Floats d;
  uint64_t sum = 0;
  const auto add = [&](const uint8_t* block) HWY_ATTR {
    Rgb rgb;
    load_block(block, rgb);
    auto sums = hn::Zero(Ints<Floats>());
    for (size_t i = 0; i < kBlock; i += hn::Lanes(d)) sums = hn::Add(sums, grey_of(d, rgb, i));
    sum += static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(Ints<Floats>(), sums)));
  };
  for (; count >= kBlock; count -= kBlock, pixels += 3 * kBlock) add(pixels);
  uint8_t last[3 * kBlock] = {};
  std::memcpy(last, pixels, 3 * count);
  add(last);
  return sum;
}

void make_grey_kernel(uint8_t* pixels, size_t count) { change_pixels(pixels, count, MakeGrey()); }
void saturate_kernel(uint8_t* pixels, size_t count, float by, float rest) {
  change_pixels(pixels, count, Saturate{by, rest});
}
void turn_hue_kernel(uint8_t* pixels, size_t count, float turn) { change_pixels(pixels, count, TurnHue{turn}); }

// --- rows of values ---

struct Sharpen {
  SharpenedRow row;
  float rest;
  uint8_t* out;

  template <class D>
  HWY_INLINE hn::Vec<Ints<D>> three(D d, const uint8_t* at) const {
    return hn::Add(hn::Add(load_ints(d, at - row.step), load_ints(d, at)), load_ints(d, at + row.step));
  }
  template <class D>
  HWY_INLINE void run(D d, size_t i) const {
    const Ints<D> di;
    const auto own = load_ints(d, row.at + i);
    const auto around = hn::Add(hn::Add(three(d, row.above + i), three(d, row.at + i)), three(d, row.below + i));
    const auto sum = hn::Add(around, hn::ShiftLeft<2>(own));
    // To the nearest; no sum lies in the middle. sum + 6 is below 6,553, so that 5,042 / 2^16 divides it by 13 exactly.
    const auto blurred = hn::ShiftRight<16>(hn::Mul(hn::Add(sum, hn::Set(di, 6)), hn::Set(di, 5042)));
    const auto value = hn::ConvertTo(d, own), difference = hn::Sub(hn::ConvertTo(d, blurred), value);
    store_bytes(d, values_of(d, hn::Add(value, hn::Mul(hn::Set(d, rest), difference))), out + i);
  }
};

template <class D>
HWY_INLINE void store_sum(D d, hn::Vec<D> sum, float* to) {
  hn::StoreU(sum, d, to);
}
template <class D>
HWY_INLINE void store_sum(D d, hn::Vec<D> sum, uint8_t* to) {
  store_bytes(d, values_of(d, to_wholes(d, sum)), to);
}

template <typename Value>
struct WeighRows {
  std::span<const Value* const> rows;
  std::span<const float> weights;
  float* out;
  template <class D>
  HWY_INLINE void run(D d, size_t i) const {
    auto sum = hn::Zero(d);
    for (size_t k = 0; k < weights.size(); ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), load(d, rows[k] + i)));
    store_sum(d, sum, out + i);
  }
};

template <typename Out>
struct WeighLine {
  const float* from;
  size_t step;
  std::span<const float> weights;
  Out* out;
  template <class D>
  HWY_INLINE void run(D d, size_t i) const {
    auto sum = hn::Zero(d);
    const float* at = from + i;
    for (size_t k = 0; k < weights.size(); ++k, at += step)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), hn::LoadU(d, at)));
    store_sum(d, sum, out + i);
  }
};

void sharpen_kernel(const SharpenedRow& row, float rest, uint8_t* out) {
  each_vector(row.count, Sharpen{row, rest, out});
}
void rows_kernel(std::span<const uint8_t* const> rows, std::span<const float> weights, size_t count, float* out) {
  each_vector(count, WeighRows<uint8_t>{rows, weights, out});
}
void float_rows_kernel(std::span<const float* const> rows, std::span<const float> weights, size_t count, float* out) {
  each_vector(count, WeighRows<float>{rows, weights, out});
}
void line_kernel(const float* from, size_t step, std::span<const float> weights, size_t count, float* out) {
  each_vector(count, WeighLine<float>{from, step, weights, out});
}
void bytes_line_kernel(const float* from, size_t step, std::span<const float> weights, size_t count, uint8_t* out) {
  each_vector(count, WeighLine<uint8_t>{from, step, weights, out});
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(grey_sum_kernel);
HWY_EXPORT(make_grey_kernel);
HWY_EXPORT(saturate_kernel);
HWY_EXPORT(turn_hue_kernel);
HWY_EXPORT(sharpen_kernel);
HWY_EXPORT(rows_kernel);
HWY_EXPORT(float_rows_kernel);
HWY_EXPORT(line_kernel);
HWY_EXPORT(bytes_line_kernel);

uint64_t grey_sum(const uint8_t* pixels, size_t count) { return HWY_DYNAMIC_DISPATCH(grey_sum_kernel)(pixels, count); }
void make_grey_pixels(uint8_t* pixels, size_t count) { HWY_DYNAMIC_DISPATCH(make_grey_kernel)(pixels, count); }
void saturate_pixels(uint8_t* pixels, size_t count, float by, float rest) {
  HWY_DYNAMIC_DISPATCH(saturate_kernel)(pixels, count, by, rest);
}
void turn_hue_of_pixels(uint8_t* pixels, size_t count, float turn) {
  HWY_DYNAMIC_DISPATCH(turn_hue_kernel)(pixels, count, turn);
}
void sharpen_row(const SharpenedRow& row, float rest, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(sharpen_kernel)(row, rest, out);
}
void weigh_rows(std::span<const uint8_t* const> rows, std::span<const float> weights, size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(rows_kernel)(rows, weights, count, out);
}
void weigh_rows(std::span<const float* const> rows, std::span<const float> weights, size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(float_rows_kernel)(rows, weights, count, out);
}
void weigh_line(const float* from, size_t step, std::span<const float> weights, size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(line_kernel)(from, step, weights, count, out);
}
void weigh_line(const float* from, size_t step, std::span<const float> weights, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(bytes_line_kernel)(from, step, weights, count, out);
}

}  // namespace spdld::image
#endif  // HWY_ONCE
