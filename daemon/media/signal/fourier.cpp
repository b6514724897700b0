#include "daemon/media/signal/fourier.h"

#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/signal/fourier.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::audio::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::CappedTag<T, kLanes<T>>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;

// Complex numbers of several series.
template <typename T>
struct Numbers {
  Vector<T> re, im;
};

template <typename T>
HWY_INLINE Numbers<T> load(const T* at) {
  return {hn::LoadU(Tag<T>(), at), hn::LoadU(Tag<T>(), at + kLanes<T>)};
}
template <typename T>
HWY_INLINE void store(const Numbers<T>& numbers, T* at) {
  hn::StoreU(numbers.re, Tag<T>(), at);
  hn::StoreU(numbers.im, Tag<T>(), at + kLanes<T>);
}
// One complex number for all series.
template <typename T>
HWY_INLINE Numbers<T> one(const T* at) {
  return {hn::Set(Tag<T>(), at[0]), hn::Set(Tag<T>(), at[1])};
}
template <typename T>
HWY_INLINE Numbers<T> add(const Numbers<T>& a, const Numbers<T>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <typename T>
HWY_INLINE Numbers<T> sub(const Numbers<T>& a, const Numbers<T>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <typename T>
HWY_INLINE Numbers<T> mul(const Numbers<T>& a, const Numbers<T>& b) {
  return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)), hn::Add(hn::Mul(a.re, b.im), hn::Mul(a.im, b.re))};
}
template <typename T>
HWY_INLINE Numbers<T> scaled(const Numbers<T>& a, Vector<T> by) {
  return {hn::Mul(a.re, by), hn::Mul(a.im, by)};
}
// a - i b, and a + i b.
template <typename T>
HWY_INLINE Numbers<T> sub_turned(const Numbers<T>& a, const Numbers<T>& b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <typename T>
HWY_INLINE Numbers<T> add_turned(const Numbers<T>& a, const Numbers<T>& b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

// A transform of kRadix numbers, which replaces them.
template <typename T, size_t kRadix>
struct Butterfly;

template <typename T>
struct Butterfly<T, 2> {
  explicit Butterfly(const T*) {}
  HWY_INLINE void operator()(Numbers<T> (&a)[2]) const {
    const Numbers<T> sum = add(a[0], a[1]);
    a[1] = sub(a[0], a[1]);
    a[0] = sum;
  }
};

template <typename T>
struct Butterfly<T, 4> {
  explicit Butterfly(const T*) {}
  HWY_INLINE void operator()(Numbers<T> (&a)[4]) const {
    const Numbers<T> even = add(a[0], a[2]), odd = add(a[1], a[3]);
    const Numbers<T> even_rest = sub(a[0], a[2]), odd_rest = sub(a[1], a[3]);
    a[0] = add(even, odd);
    a[2] = sub(even, odd);
    a[1] = sub_turned(even_rest, odd_rest);
    a[3] = add_turned(even_rest, odd_rest);
  }
};

// Of odd radices, the numbers from both ends are taken together: cosines weigh their sums, and sines their differences.
template <typename T>
struct Butterfly<T, 3> {
  T c1, s1;
  explicit Butterfly(const T* roots) : c1(roots[2]), s1(-roots[3]) {}
  HWY_INLINE void operator()(Numbers<T> (&a)[3]) const {
    const Tag<T> d;
    const Numbers<T> sum = add(a[1], a[2]), difference = scaled<T>(sub(a[1], a[2]), hn::Set(d, s1));
    const Numbers<T> middle = add(a[0], scaled<T>(sum, hn::Set(d, c1)));
    a[0] = add(a[0], sum);
    a[1] = sub_turned(middle, difference);
    a[2] = add_turned(middle, difference);
  }
};

template <typename T>
struct Butterfly<T, 5> {
  T c1, c2, s1, s2;
  explicit Butterfly(const T* roots) : c1(roots[2]), c2(roots[4]), s1(-roots[3]), s2(-roots[5]) {}
  HWY_INLINE void operator()(Numbers<T> (&a)[5]) const {
    const Tag<T> d;
    const auto vc1 = hn::Set(d, c1), vc2 = hn::Set(d, c2), vs1 = hn::Set(d, s1), vs2 = hn::Set(d, s2);
    const Numbers<T> p1 = add(a[1], a[4]), p2 = add(a[2], a[3]), m1 = sub(a[1], a[4]), m2 = sub(a[2], a[3]);
    const Numbers<T> u1 = add(add(a[0], scaled<T>(p1, vc1)), scaled<T>(p2, vc2));
    const Numbers<T> u2 = add(add(a[0], scaled<T>(p1, vc2)), scaled<T>(p2, vc1));
    const Numbers<T> v1 = add(scaled<T>(m1, vs1), scaled<T>(m2, vs2));
    const Numbers<T> v2 = sub(scaled<T>(m1, vs2), scaled<T>(m2, vs1));
    a[0] = add(add(a[0], p1), p2);
    a[1] = sub_turned(u1, v1);
    a[4] = add_turned(u1, v1);
    a[2] = sub_turned(u2, v2);
    a[3] = add_turned(u2, v2);
  }
};

template <typename T>
struct Butterfly<T, 7> {
  T c1, c2, c3, s1, s2, s3;
  explicit Butterfly(const T* roots)
      : c1(roots[2]), c2(roots[4]), c3(roots[6]), s1(-roots[3]), s2(-roots[5]), s3(-roots[7]) {}
  HWY_INLINE static Numbers<T> weighed(const Numbers<T>& first, const Numbers<T>& a, Vector<T> by_a,
                                       const Numbers<T>& b, Vector<T> by_b) {
    return add(add(first, scaled<T>(a, by_a)), scaled<T>(b, by_b));
  }
  HWY_INLINE void operator()(Numbers<T> (&a)[7]) const {
    const Tag<T> d;
    const auto vc1 = hn::Set(d, c1), vc2 = hn::Set(d, c2), vc3 = hn::Set(d, c3);
    const auto vs1 = hn::Set(d, s1), vs2 = hn::Set(d, s2), vs3 = hn::Set(d, s3);
    const Numbers<T> p1 = add(a[1], a[6]), p2 = add(a[2], a[5]), p3 = add(a[3], a[4]);
    const Numbers<T> m1 = sub(a[1], a[6]), m2 = sub(a[2], a[5]), m3 = sub(a[3], a[4]);
    const Numbers<T> u1 = weighed(add(a[0], scaled<T>(p1, vc1)), p2, vc2, p3, vc3);
    const Numbers<T> u2 = weighed(add(a[0], scaled<T>(p1, vc2)), p2, vc3, p3, vc1);
    const Numbers<T> u3 = weighed(add(a[0], scaled<T>(p1, vc3)), p2, vc1, p3, vc2);
    const Numbers<T> v1 = weighed(scaled<T>(m1, vs1), m2, vs2, m3, vs3);
    const Numbers<T> v2 = sub(sub(scaled<T>(m1, vs2), scaled<T>(m2, vs3)), scaled<T>(m3, vs1));
    const Numbers<T> v3 = add(sub(scaled<T>(m1, vs3), scaled<T>(m2, vs1)), scaled<T>(m3, vs2));
    a[0] = add(add(a[0], p1), add(p2, p3));
    a[1] = sub_turned(u1, v1);
    a[6] = add_turned(u1, v1);
    a[2] = sub_turned(u2, v2);
    a[5] = add_turned(u2, v2);
    a[3] = sub_turned(u3, v3);
    a[4] = add_turned(u3, v3);
  }
};

// The `apart` series at one place of their step, whose results are multiplied by `turns`. Places of a series are
// `stride` numbers of memory apart.
template <typename T, size_t kRadix, bool kTurned>
HWY_INLINE void step_place(const Butterfly<T, kRadix>& butterfly, size_t apart, const T* turns, const T* from,
                           size_t stride, T* to) {
  constexpr size_t kNumber = 2 * kLanes<T>;
  Numbers<T> turn[kRadix];
  if constexpr (kTurned)
    for (size_t k = 1; k < kRadix; ++k) turn[k] = one(turns + 2 * (k - 1));
  for (size_t q = 0; q < apart; ++q) {
    for (size_t lane = 0; lane < kLanes<T>; lane += hn::Lanes(Tag<T>())) {
      Numbers<T> a[kRadix];
      for (size_t j = 0; j < kRadix; ++j) a[j] = load(from + j * stride + q * kNumber + lane);
      butterfly(a);
      store(a[0], to + q * kNumber + lane);
      for (size_t k = 1; k < kRadix; ++k) {
        if constexpr (kTurned) a[k] = mul(a[k], turn[k]);
        store(a[k], to + (k * apart + q) * kNumber + lane);
      }
    }
  }
}

template <typename T, size_t kRadix>
void step(const FourierStep<T>& step, const T* from, T* to) {
  const size_t beside = 2 * kLanes<T> * step.apart, stride = step.count * beside;
  const Butterfly<T, kRadix> butterfly(step.roots.data());
  step_place<T, kRadix, false>(butterfly, step.apart, nullptr, from, stride, to);
  for (size_t p = 1; p < step.count; ++p)
    step_place<T, kRadix, true>(butterfly, step.apart, step.turns.data() + 2 * p * (kRadix - 1), from + p * beside,
                                stride, to + p * kRadix * beside);
}

// Of any radix.
template <typename T>
void step_any(const FourierStep<T>& step, const T* from, T* to) {
  const size_t beside = 2 * kLanes<T> * step.apart, stride = step.count * beside, radix = step.radix;
  const auto sum_of = [&](const T* at, size_t k) {
    Numbers<T> sum = load(at);
    for (size_t j = 1; j < radix; ++j)
      sum = add(sum, mul(load(at + j * stride), one(step.roots.data() + 2 * (j * k % radix))));
    return sum;
  };
  for (size_t p = 0; p < step.count; ++p) {
    for (size_t k = 0; k < radix; ++k) {
      const Numbers<T> turn = one(step.turns.data() + 2 * (p * (radix - 1) + (k == 0 ? 0 : k - 1)));
      for (size_t q = 0; q < beside; q += 2 * kLanes<T>) {
        for (size_t lane = 0; lane < kLanes<T>; lane += hn::Lanes(Tag<T>())) {
          const Numbers<T> sum = sum_of(from + p * beside + q + lane, k);
          store(k == 0 ? sum : mul(sum, turn), to + (p * radix + k) * beside + q + lane);
        }
      }
    }
  }
}

template <typename T>
T* run(const std::vector<FourierStep<T>>& steps, T* values, T* work) {
  for (const FourierStep<T>& one_step : steps) {
    switch (one_step.radix) {
      case 2:
        step<T, 2>(one_step, values, work);
        break;
      case 3:
        step<T, 3>(one_step, values, work);
        break;
      case 4:
        step<T, 4>(one_step, values, work);
        break;
      case 5:
        step<T, 5>(one_step, values, work);
        break;
      case 7:
        step<T, 7>(one_step, values, work);
        break;
      default:
        step_any<T>(one_step, values, work);
    }
    T* const result = work;
    work = values;
    values = result;
  }
  return values;
}

// A bin of real numbers, of the transform of the complex ones that their pairs are: a is that transform at the bin, and
// b its mirror image.
template <typename T>
HWY_INLINE Numbers<T> bin_of(const Numbers<T>& a, const Numbers<T>& b, const Numbers<T>& turn) {
  const auto half = hn::Set(Tag<T>(), T(0.5));
  const Numbers<T> even = {hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))};
  const Numbers<T> odd = {hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))};
  return add(even, mul(odd, turn));
}

// Calls take(bin's number, lane, bin) for the first bins of `half` complex rows.
template <typename T, typename Take>
HWY_INLINE void for_each_bin(const T* rows, size_t half, size_t count, const T* turns, const Take& take) {
  constexpr size_t kNumber = 2 * kLanes<T>;
  for (size_t k = 0; k < count; ++k) {
    const T* const at = rows + (k == half ? 0 : k) * kNumber;
    const T* const mirrored = rows + (k == 0 ? 0 : half - k) * kNumber;
    const Numbers<T> turn = one(turns + 2 * k);
    for (size_t lane = 0; lane < kLanes<T>; lane += hn::Lanes(Tag<T>()))
      take(k, lane, bin_of<T>(load(at + lane), load(mirrored + lane), turn));
  }
}

template <typename T>
void write_bins(const T* rows, size_t half, size_t count, const T* turns, T* to) {
  for_each_bin(rows, half, count, turns,
               [&](size_t k, size_t lane, const Numbers<T>& bin) { store(bin, to + k * 2 * kLanes<T> + lane); });
}

// The inverse of bin_of(), twice. A forward transform makes a backward one of what is written: its number k lies at
// half - k.
template <typename T>
void prepare_back(const T* bins, size_t count, size_t half, const T* turns, T* to) {
  constexpr size_t kNumber = 2 * kLanes<T>;
  const auto zero = hn::Zero(Tag<T>());
  for (size_t k = 0; k < half; ++k) {
    T* const at = to + (k == 0 ? 0 : half - k) * kNumber;
    const Numbers<T> turn = {hn::Set(Tag<T>(), turns[2 * k]), hn::Set(Tag<T>(), -turns[2 * k + 1])};
    for (size_t lane = 0; lane < kLanes<T>; lane += hn::Lanes(Tag<T>())) {
      Numbers<T> a = {zero, zero}, b = {zero, zero};
      if (k < count) a = load(bins + k * kNumber + lane);
      if (half - k < count) b = load(bins + (half - k) * kNumber + lane);
      const Numbers<T> even = {hn::Add(a.re, b.re), hn::Sub(a.im, b.im)};
      const Numbers<T> odd = {hn::Sub(a.re, b.re), hn::Add(a.im, b.im)};
      store(add_turned(even, mul(odd, turn)), at + lane);
    }
  }
}

// Highway exports no templates.
double* run_doubles(const std::vector<FourierStep<double>>& steps, double* values, double* work) {
  return run(steps, values, work);
}
float* run_floats(const std::vector<FourierStep<float>>& steps, float* values, float* work) {
  return run(steps, values, work);
}
void bins_of_doubles(const double* rows, size_t half, size_t count, const double* turns, double* to) {
  write_bins(rows, half, count, turns, to);
}
void bins_of_floats(const float* rows, size_t half, size_t count, const float* turns, float* to) {
  write_bins(rows, half, count, turns, to);
}
void powers_of_doubles(const double* rows, size_t half, const double* turns, double* to) {
  for_each_bin(rows, half, half + 1, turns, [&](size_t k, size_t lane, const Numbers<double>& bin) {
    const auto power = hn::Add(hn::Mul(bin.re, bin.re), hn::Mul(bin.im, bin.im));
    hn::StoreU(power, Tag<double>(), to + k * kLanes<double> + lane);
  });
}
void back_of_floats(const float* bins, size_t count, size_t half, const float* turns, float* to) {
  prepare_back(bins, count, half, turns, to);
}

}  // namespace
}  // namespace spdld::audio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::audio {

HWY_EXPORT(run_doubles);
HWY_EXPORT(run_floats);
HWY_EXPORT(bins_of_doubles);
HWY_EXPORT(bins_of_floats);
HWY_EXPORT(powers_of_doubles);
HWY_EXPORT(back_of_floats);

namespace {

// exp(-2 pi i number / size), behind the others.
template <typename T>
void push_turn(size_t number, size_t size, std::vector<T>& turns) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(number % size) / static_cast<double>(size);
  turns.push_back(static_cast<T>(std::cos(angle)));
  turns.push_back(static_cast<T>(std::sin(angle)));
}

size_t first_factor(size_t size) {
  for (const size_t factor : {4, 2, 3})
    if (size % factor == 0) return factor;
  for (size_t factor = 5; factor * factor <= size; factor += 2)
    if (size % factor == 0) return factor;
  return size;
}

}  // namespace

template <typename T>
Fourier<T>::Fourier(size_t size) {
  for (size_t rest = size, apart = 1; rest > 1;) {
    FourierStep<T> step{.radix = first_factor(rest), .count = 0, .apart = apart, .turns = {}, .roots = {}};
    step.count = rest / step.radix;
    for (size_t p = 0; p < step.count; ++p)
      for (size_t k = 1; k < step.radix; ++k) push_turn(p * k, rest, step.turns);
    for (size_t k = 0; k < step.radix; ++k) push_turn(k, step.radix, step.roots);
    rest = step.count;
    apart *= step.radix;
    steps_.push_back(std::move(step));
  }
}

template <>
double* Fourier<double>::run(double* values, double* work) const {
  return HWY_DYNAMIC_DISPATCH(run_doubles)(steps_, values, work);
}
template <>
float* Fourier<float>::run(float* values, float* work) const {
  return HWY_DYNAMIC_DISPATCH(run_floats)(steps_, values, work);
}

template <typename T>
RealFourier<T>::RealFourier(size_t size) : size_(size), half_(size / 2) {
  for (size_t k = 0; k < bins(); ++k) push_turn(k, size, turns_);
}

template <>
void RealFourier<double>::write_bins(double* values, double* work, size_t count, double* to) const {
  HWY_DYNAMIC_DISPATCH(bins_of_doubles)(half_.run(values, work), size_ / 2, count, turns_.data(), to);
}
template <>
void RealFourier<float>::write_bins(float* values, float* work, size_t count, float* to) const {
  HWY_DYNAMIC_DISPATCH(bins_of_floats)(half_.run(values, work), size_ / 2, count, turns_.data(), to);
}
template <>
void RealFourier<double>::write_powers(double* values, double* work, double* to) const {
  HWY_DYNAMIC_DISPATCH(powers_of_doubles)(half_.run(values, work), size_ / 2, turns_.data(), to);
}
template <>
void RealFourier<float>::prepare_back(const float* bins, size_t count, float* values) const {
  HWY_DYNAMIC_DISPATCH(back_of_floats)(bins, count, size_ / 2, turns_.data(), values);
}

template class Fourier<double>;
template class Fourier<float>;
template RealFourier<double>::RealFourier(size_t size);
template RealFourier<float>::RealFourier(size_t size);

}  // namespace spdld::audio
#endif  // HWY_ONCE
