#include "daemon/media/audio/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numbers>
#include <numeric>

namespace spdld::audio {
namespace {

// In parts of the half of the lower rate. Kaiser's formulas give the window for this width of the transition and this
// attenuation.
constexpr double kPass = 0.913, kStop = 1.0, kAttenuation_db = 125;
constexpr size_t kLanes = 32;                  // partial sums; their order is the same on every machine
constexpr size_t kTableMax = size_t{1} << 20;  // floats of an exact table
constexpr double kPhases = 2048;               // of a table that is mixed: its error is 130 dB down

double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 100 && term > sum * 1e-18; ++k) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

// Floats that the compiler multiplies and adds at once. No product is fused with a sum, and both functions add the same
// numbers in the same order, so that samples don't depend on the machine.
using Four = float __attribute__((vector_size(16)));
using Eight = float __attribute__((vector_size(32)));

float dot_by_four(const float* a, const float* b, size_t count) {
  Four sums[kLanes / 4] = {};
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t k = 0; k < std::size(sums); ++k) {
      Four x, y;
      std::memcpy(&x, a + i + k * 4, sizeof x);
      std::memcpy(&y, b + i + k * 4, sizeof y);
      sums[k] += x * y;
    }
  }
  const Four low = (sums[0] + sums[2]) + (sums[4] + sums[6]), high = (sums[1] + sums[3]) + (sums[5] + sums[7]);
  const Four all = low + high;
  return (all[0] + all[1]) + (all[2] + all[3]);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] float dot_by_eight(const float* a, const float* b, size_t count) {
  Eight sums[kLanes / 8] = {};
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t k = 0; k < std::size(sums); ++k) {
      Eight x, y;
      std::memcpy(&x, a + i + k * 8, sizeof x);
      std::memcpy(&y, b + i + k * 8, sizeof y);
      sums[k] += x * y;
    }
  }
  const Eight all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return ((all[0] + all[4]) + (all[1] + all[5])) + ((all[2] + all[6]) + (all[3] + all[7]));
}
#endif

using Dot = float (*)(const float* a, const float* b, size_t count);

Dot best_dot() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return dot_by_eight;
#endif
  return dot_by_four;
}

}  // namespace

Resampler::Resampler(uint64_t from, uint64_t to) : from_(from / std::gcd(from, to)), to_(to / std::gcd(from, to)) {
  const double lower = std::min(1.0, static_cast<double>(to_) / static_cast<double>(from_));
  const double width = (kStop - kPass) * lower, middle = (kStop + kPass) / 2 * lower;
  const double taps = (kAttenuation_db - 8) / (2.285 * std::numbers::pi * width);
  taps_ = (static_cast<size_t>(std::ceil(taps)) + kLanes) / kLanes * kLanes;
  half_ = taps_ / 2;
  is_exact_ = taps_ * to_ <= kTableMax;
  phases_ = is_exact_ ? to_ : static_cast<size_t>(std::max(16.0, std::ceil(kPhases * lower)));

  const double beta = 0.1102 * (kAttenuation_db - 8.7), scale = 1 / bessel_i0(beta);
  const double half = static_cast<double>(half_);
  table_.resize((phases_ + 1) * taps_);
  for (size_t phase = 0; phase <= phases_; ++phase) {
    const double offset = static_cast<double>(phase) / static_cast<double>(phases_);
    for (size_t tap = 0; tap < taps_; ++tap) {
      // The distance from the output's time to the input sample.
      const double x = offset + half - 1 - static_cast<double>(tap);
      const double edge = 1 - x / half * (x / half);
      const double angle = std::numbers::pi * middle * x;
      const double sinc = std::abs(angle) < 1e-12 ? 1 : std::sin(angle) / angle;
      const double window = edge <= 0 ? 0 : bessel_i0(beta * std::sqrt(edge)) * scale;
      table_[phase * taps_ + tap] = static_cast<float>(middle * sinc * window);
    }
  }
}

Resampler::Range Resampler::inputs(uint64_t first, uint64_t count, uint64_t total) const {
  const uint64_t at_first = first * from_ / to_, at_last = (first + count - 1) * from_ / to_;
  const uint64_t begin = std::min(at_first + 1 - std::min<uint64_t>(half_, at_first + 1), total - 1);
  const uint64_t end = std::min(at_last + 1 + half_, total);
  return {begin, std::max<uint64_t>(end - std::min(begin, end), 1)};
}

void Resampler::run(std::span<const float> in, uint64_t in_first, uint64_t first, std::span<float> out) const {
  static const Dot dot = best_dot();
  std::vector<float> edge(taps_);  // where the taps reach beyond the samples
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t time = (first + i) * from_;
    const auto begin =
        static_cast<int64_t>(time / to_) - static_cast<int64_t>(half_) + 1 - static_cast<int64_t>(in_first);
    const float* samples = in.data() + begin;
    if (begin < 0 || static_cast<uint64_t>(begin) + taps_ > in.size()) {
      std::fill(edge.begin(), edge.end(), 0.0f);
      const int64_t from = std::max<int64_t>(begin, 0);
      const int64_t to = std::min(begin + static_cast<int64_t>(taps_), static_cast<int64_t>(in.size()));
      if (from < to) std::memcpy(edge.data() + (from - begin), in.data() + from, static_cast<size_t>(to - from) * 4);
      samples = edge.data();
    }
    const uint64_t rest = time % to_;
    if (is_exact_) {
      out[i] = dot(samples, table_.data() + rest * taps_, taps_);
      continue;
    }
    const double place = static_cast<double>(rest) / static_cast<double>(to_) * static_cast<double>(phases_);
    const auto row = static_cast<size_t>(place);
    const auto part = static_cast<float>(place - static_cast<double>(row));
    const float before = dot(samples, table_.data() + row * taps_, taps_);
    const float behind = dot(samples, table_.data() + (row + 1) * taps_, taps_);
    out[i] = before + (behind - before) * part;
  }
}

}  // namespace spdld::audio
