#include "daemon/media/signal/lanes.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/signal/lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::audio::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, kSeries>;

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE size_t gather_fours(const float* const*, size_t, size_t, float*) { return 0; }
HWY_INLINE size_t spread_fours(const float*, size_t, size_t, float* const*) { return 0; }
#else
using Four = hn::FixedTag<float, kSeries>;
using Pairs = hn::Repartition<uint64_t, Four>;

// Four rows of four values: columns become rows.
struct Square {
  hn::Vec<Four> a, b, c, d;
};

HWY_INLINE Square turned(const Square& in) {
  const Four four;
  const Pairs pairs;
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(four, in.a, in.b));
  const auto low_cd = hn::BitCast(pairs, hn::InterleaveLower(four, in.c, in.d));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(four, in.a, in.b));
  const auto high_cd = hn::BitCast(pairs, hn::InterleaveUpper(four, in.c, in.d));
  return {hn::BitCast(four, hn::InterleaveLower(pairs, low_ab, low_cd)),
          hn::BitCast(four, hn::InterleaveUpper(pairs, low_ab, low_cd)),
          hn::BitCast(four, hn::InterleaveLower(pairs, high_ab, high_cd)),
          hn::BitCast(four, hn::InterleaveUpper(pairs, high_ab, high_cd))};
}

HWY_INLINE Square load(const float* a, const float* b, const float* c, const float* d) {
  const Four four;
  return {hn::LoadU(four, a), hn::LoadU(four, b), hn::LoadU(four, c), hn::LoadU(four, d)};
}
HWY_INLINE void store(const Square& square, float* a, float* b, float* c, float* d) {
  const Four four;
  hn::StoreU(square.a, four, a);
  hn::StoreU(square.b, four, b);
  hn::StoreU(square.c, four, c);
  hn::StoreU(square.d, four, d);
}

// Both return how many they have done: a multiple of four.
HWY_INLINE size_t gather_fours(const float* const* series, size_t count, size_t step, float* to) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    float* const at = to + i * step;
    store(turned(load(series[0] + i, series[1] + i, series[2] + i, series[3] + i)), at, at + step, at + 2 * step,
          at + 3 * step);
  }
  return i;
}
HWY_INLINE size_t spread_fours(const float* from, size_t count, size_t step, float* const* series) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float* const at = from + i * step;
    store(turned(load(at, at + step, at + 2 * step, at + 3 * step)), series[0] + i, series[1] + i, series[2] + i,
          series[3] + i);
  }
  return i;
}
#endif

void gather_kernel(const float* const* series, size_t count, size_t step, float* to) {
  for (size_t i = gather_fours(series, count, step, to); i < count; ++i)
    for (size_t s = 0; s < kSeries; ++s) to[i * step + s] = series[s][i];
}

void spread_kernel(const float* from, size_t count, size_t step, float* const* series) {
  for (size_t i = spread_fours(from, count, step, series); i < count; ++i)
    for (size_t s = 0; s < kSeries; ++s) series[s][i] = from[i * step + s];
}

void weigh_kernel(const float* const* series, const double* weights, size_t count, double* to) {
  const Doubles d;
  const hn::Rebind<float, Doubles> floats;
  constexpr size_t kBlock = 64;  // numbers of a series that are gathered at a time
  alignas(64) float gathered[kBlock * kSeries];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = HWY_MIN(kBlock, count - begin);
    const float* const from[] = {series[0] + begin, series[1] + begin, series[2] + begin, series[3] + begin};
    gather_kernel(from, size, kSeries, gathered);
    for (size_t i = 0; i < size; ++i) {
      const auto weight = hn::Set(d, weights[begin + i]);
      for (size_t s = 0; s < kSeries; s += hn::Lanes(d)) {
        const auto values = hn::PromoteTo(d, hn::LoadU(floats, gathered + i * kSeries + s));
        hn::StoreU(hn::Mul(values, weight), d, to + (begin + i) * kSeries + s);
      }
    }
  }
}

void sums_kernel(const WeighedSum* sums, size_t count, const double* weights, const double* rows, double* to) {
  const Doubles d;
  for (size_t i = 0; i < count; ++i) {
    for (size_t s = 0; s < kSeries; s += hn::Lanes(d)) {
      auto sum = hn::Zero(d);
      const double* const from = rows + sums[i].first * kSeries + s;
      for (size_t k = 0; k < sums[i].count; ++k)
        sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), hn::LoadU(d, from + k * kSeries)));
      hn::StoreU(sum, d, to + i * kSeries + s);
    }
    weights += sums[i].count;
  }
}

// x = 2^e m, where m lies between the roots of 1/2 and 2. With f = (m - 1) / (m + 1), log m = 2 (f + f^3/3 + f^5/5 +
// ...).
HWY_INLINE hn::Vec<Doubles> logarithms(hn::Vec<Doubles> x) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> bits;
  const auto set = [&](double value) { return hn::Set(d, value); };
  // Less the bits of the root of 1/2, the exponent counts from there on.
  const auto from_root = hn::Sub(hn::BitCast(bits, x), hn::Set(bits, uint64_t{0x3FE6A09E667F3BCD}));
  const auto exponent = hn::ShiftRight<52>(hn::Add(from_root, hn::Set(bits, uint64_t{1023} << 52)));
  const auto mantissa = hn::And(from_root, hn::Set(bits, (uint64_t{1} << 52) - 1));
  const auto m = hn::BitCast(d, hn::Add(mantissa, hn::Set(bits, uint64_t{0x3FE6A09E667F3BCD})));
  // The number 2^52 + e ends in the bits of e.
  const auto e_and_more = hn::BitCast(d, hn::Or(exponent, hn::BitCast(bits, set(0x1p52))));
  const auto e = hn::Sub(e_and_more, set(0x1p52 + 1023));
  const auto f = hn::Div(hn::Sub(m, set(1)), hn::Add(m, set(1)));
  const auto square = hn::Mul(f, f);
  auto series = set(2.0 / 21);
  for (const double n : {19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0})
    series = hn::Add(hn::Mul(series, square), set(2 / n));
  const auto of_m = hn::Add(hn::Add(f, f), hn::Mul(hn::Mul(series, square), f));
  constexpr double kLog2High = 0x1.62e42fefa38p-1, kLog2Low = 0x1.ef35793c7673p-45;  // the high part times e is exact
  return hn::Add(hn::Mul(e, set(kLog2High)), hn::Add(of_m, hn::Mul(e, set(kLog2Low))));
}

void logarithms_kernel(const double* values, size_t count, double scale, float* to) {
  const Doubles d;
  const hn::Rebind<float, Doubles> floats;
  const auto least = hn::Set(d, std::numeric_limits<double>::min());
  const auto most = hn::Set(d, std::numeric_limits<double>::max());
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, values + i);
    hn::StoreU(hn::DemoteTo(floats, hn::Mul(logarithms(x), hn::Set(d, scale))), floats, to + i);
    if (hn::AllTrue(d, hn::And(hn::Ge(x, least), hn::Le(x, most)))) continue;
    for (size_t k = i; k < i + hn::Lanes(d); ++k)  // a normal number keeps the logarithm from above
      if (!std::isnormal(values[k]) || values[k] < 0) to[k] = static_cast<float>(std::log(values[k]) * scale);
  }
}

}  // namespace
}  // namespace spdld::audio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::audio {

HWY_EXPORT(gather_kernel);
HWY_EXPORT(spread_kernel);
HWY_EXPORT(weigh_kernel);
HWY_EXPORT(sums_kernel);
HWY_EXPORT(logarithms_kernel);

void gather(const float* const (&series)[kSeries], size_t count, size_t step, float* to) {
  HWY_DYNAMIC_DISPATCH(gather_kernel)(series, count, step, to);
}
void spread(const float* from, size_t count, size_t step, float* const (&series)[kSeries]) {
  HWY_DYNAMIC_DISPATCH(spread_kernel)(from, count, step, series);
}
void gather_weighed(const float* const (&series)[kSeries], std::span<const double> weights, double* to) {
  HWY_DYNAMIC_DISPATCH(weigh_kernel)(series, weights.data(), weights.size(), to);
}
void add_weighed(std::span<const WeighedSum> sums, const double* weights, const double* rows, double* to) {
  HWY_DYNAMIC_DISPATCH(sums_kernel)(sums.data(), sums.size(), weights, rows, to);
}
void write_logarithms(std::span<const double> values, double scale, float* to) {
  HWY_DYNAMIC_DISPATCH(logarithms_kernel)(values.data(), values.size(), scale, to);
}

}  // namespace spdld::audio
#endif  // HWY_ONCE
