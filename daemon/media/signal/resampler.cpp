#include "daemon/media/signal/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

namespace spdld::audio {
namespace {

// In parts of the half of the lower rate. Kaiser's formulas give the window for this width of the transition and this
// attenuation.
constexpr double kPass = 0.913, kStop = 1.0, kAttenuation_db = 125;
constexpr size_t kPartials = 32;               // partial sums; their order is the same on every machine
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

// Of the filter that reaches `reach` samples to each side, and passes `middle` of the input's band.
double weight_at(double distance, size_t reach, double middle) {
  constexpr double kBeta = 0.1102 * (kAttenuation_db - 8.7);
  static const double scale = 1 / bessel_i0(kBeta);
  const double place = distance / static_cast<double>(reach), edge = 1 - place * place;
  if (edge <= 0) return 0;
  const double angle = std::numbers::pi * middle * distance;
  const double sinc = std::abs(angle) < 1e-12 ? 1 : std::sin(angle) / angle;
  return middle * sinc * bessel_i0(kBeta * std::sqrt(edge)) * scale;
}

// Floats that the compiler multiplies and adds at once.
using Four = float __attribute__((vector_size(16)));
using Eight = float __attribute__((vector_size(32)));

// Sums of samples that a row of the table weighs, for several outputs that have this row: those at `samples`, at
// `samples + step`, and so on. No product is fused with a sum, and each sum adds the same numbers in the same order, so
// that samples don't depend on the machine, nor on the outputs that are made together.
using Sums = void (*)(const float* samples, size_t step, const float* row, size_t taps, float* sums);

[[gnu::always_inline]] inline float total_of(const Four (&sums)[kPartials / 4]) {
  const Four low = (sums[0] + sums[2]) + (sums[4] + sums[6]), high = (sums[1] + sums[3]) + (sums[5] + sums[7]);
  const Four all = low + high;
  return (all[0] + all[1]) + (all[2] + all[3]);
}

[[gnu::always_inline]] inline float total_of(const Eight (&sums)[kPartials / 8]) {
  const Eight all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return ((all[0] + all[4]) + (all[1] + all[5])) + ((all[2] + all[6]) + (all[3] + all[7]));
}

template <typename Vector, size_t kOutputs>
[[gnu::always_inline]] inline void add_up(const float* samples, size_t step, const float* row, size_t taps,
                                          float* sums) {
  constexpr size_t kWidth = sizeof(Vector) / sizeof(float), kVectors = kPartials / kWidth;
  Vector partial[kOutputs][kVectors], weight, sample;
  for (size_t k = 0; k < kVectors; ++k) {
    std::memcpy(&weight, row + k * kWidth, sizeof weight);
    for (size_t output = 0; output < kOutputs; ++output) {
      std::memcpy(&sample, samples + output * step + k * kWidth, sizeof sample);
      partial[output][k] = sample * weight;
    }
  }
  for (size_t i = kPartials; i < taps; i += kPartials) {
    for (size_t k = 0; k < kVectors; ++k) {
      std::memcpy(&weight, row + i + k * kWidth, sizeof weight);
      for (size_t output = 0; output < kOutputs; ++output) {
        std::memcpy(&sample, samples + output * step + i + k * kWidth, sizeof sample);
        partial[output][k] += sample * weight;
      }
    }
  }
  for (size_t output = 0; output < kOutputs; ++output) sums[output] = total_of(partial[output]);
}

template <size_t kOutputs>
void sums_by_four(const float* samples, size_t step, const float* row, size_t taps, float* sums) {
  add_up<Four, kOutputs>(samples, step, row, taps, sums);
}

#if defined(__x86_64__)
template <size_t kOutputs>
[[gnu::target("avx2")]] void sums_by_eight(const float* samples, size_t step, const float* row, size_t taps,
                                           float* sums) {
  add_up<Eight, kOutputs>(samples, step, row, taps, sums);
}
#endif

// As many outputs at a time as leave their sums in registers.
struct Kernel {
  size_t outputs;
  Sums several, one;
};
constexpr size_t kOutputsMax = 3;

Kernel best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return {3, sums_by_eight<3>, sums_by_eight<1>};
#endif
  return {1, sums_by_four<1>, sums_by_four<1>};
}

}  // namespace

Resampler::Resampler(uint64_t from, uint64_t to) : from_(from / std::gcd(from, to)), to_(to / std::gcd(from, to)) {
  const double lower = std::min(1.0, static_cast<double>(to_) / static_cast<double>(from_));
  const double width = (kStop - kPass) * lower, middle = (kStop + kPass) / 2 * lower;
  const double taps = (kAttenuation_db - 8) / (2.285 * std::numbers::pi * width);
  taps_ = (static_cast<size_t>(std::ceil(taps)) + kPartials) / kPartials * kPartials;
  half_ = taps_ / 2;
  blocks_ = BlockResampler::of(from_, to_, half_, [&](double distance) { return weight_at(distance, half_, middle); });
  if (!blocks_) make_table(lower, middle);
}

void Resampler::make_table(double lower, double middle) {
  is_exact_ = taps_ * to_ <= kTableMax;
  phases_ = is_exact_ ? to_ : static_cast<size_t>(std::max(16.0, std::ceil(kPhases * lower)));
  table_.resize((phases_ + 1) * taps_);
  for (size_t phase = 0; phase <= phases_; ++phase) {
    const double offset = static_cast<double>(phase) / static_cast<double>(phases_);
    for (size_t tap = 0; tap < taps_; ++tap) {
      // The distance from the output's time to the input sample.
      const double distance = offset + static_cast<double>(half_) - 1 - static_cast<double>(tap);
      table_[phase * taps_ + tap] = static_cast<float>(weight_at(distance, half_, middle));
    }
  }
}

Resampler::Range Resampler::inputs(uint64_t first, uint64_t count, uint64_t total) const {
  if (blocks_) {
    const uint64_t begin = std::min(blocks_->inputs_begin(first), total - 1);
    return {begin, std::max(std::min(blocks_->inputs_end(first + count - 1), total), begin + 1) - begin};
  }
  const uint64_t at_first = first * from_ / to_, at_last = (first + count - 1) * from_ / to_;
  const uint64_t begin = std::min(at_first + 1 - std::min<uint64_t>(half_, at_first + 1), total - 1);
  const uint64_t end = std::min(at_last + 1 + half_, total);
  return {begin, std::max<uint64_t>(end - std::min(begin, end), 1)};
}

void Resampler::run(std::span<const float> in, uint64_t in_first, uint64_t first, std::span<float> out,
                    ByteBuffer& memory) const {
  if (blocks_) return blocks_->run(in, in_first, first, out, memory);
  std::vector<float> edge(taps_);
  const auto [begin, end] = inner(in.size(), in_first, first, out.size());
  for (size_t i = 0; i < begin; ++i) out[i] = at_edge(in, in_first, first + i, edge);
  for (size_t i = end; i < out.size(); ++i) out[i] = at_edge(in, in_first, first + i, edge);
  const std::span<float> inside = out.subspan(begin, end - begin);
  if (inside.empty()) return;
  const float* samples = in.data() + (first_input(first + begin) - static_cast<int64_t>(in_first));
  if (is_exact_)
    run_exact(samples, first + begin, inside);
  else
    run_mixed(samples, first + begin, inside);
}

int64_t Resampler::first_input(uint64_t output) const {
  return static_cast<int64_t>(output * from_ / to_) - static_cast<int64_t>(half_) + 1;
}

// The first input of an output is at least `place` from this output on.
uint64_t Resampler::first_output(int64_t place) const {
  const int64_t whole = place + static_cast<int64_t>(half_) - 1;  // of output * from_ / to_
  return whole <= 0 ? 0 : (static_cast<uint64_t>(whole) * to_ + from_ - 1) / from_;
}

std::pair<size_t, size_t> Resampler::inner(size_t inputs, uint64_t in_first, uint64_t first, size_t outputs) const {
  const auto start = static_cast<int64_t>(in_first);
  const int64_t last = start + static_cast<int64_t>(inputs) - static_cast<int64_t>(taps_);
  const auto within = [&](uint64_t output) { return std::clamp(output, first, first + outputs) - first; };
  const uint64_t begin = within(first_output(start)), end = within(first_output(last + 1));
  return {begin, std::max(begin, end)};
}

float Resampler::at_edge(std::span<const float> in, uint64_t in_first, uint64_t output,
                         std::vector<float>& edge) const {
  const int64_t begin = first_input(output) - static_cast<int64_t>(in_first);
  std::fill(edge.begin(), edge.end(), 0.0f);
  const int64_t from = std::max<int64_t>(begin, 0);
  const int64_t to = std::min(begin + static_cast<int64_t>(taps_), static_cast<int64_t>(in.size()));
  if (from < to) std::memcpy(edge.data() + (from - begin), in.data() + from, static_cast<size_t>(to - from) * 4);
  float sum = 0;
  if (is_exact_)
    run_exact(edge.data(), output, {&sum, 1});
  else
    run_mixed(edge.data(), output, {&sum, 1});
  return sum;
}

// Each to_-th output has the same row, so that these are made together.
void Resampler::run_exact(const float* samples, uint64_t first, std::span<float> out) const {
  static const Kernel kernel = best_kernel();
  const int64_t start = first_input(first);
  const size_t group = kernel.outputs * to_;
  float sums[kOutputsMax];
  for (size_t begin = 0; begin < out.size(); begin += group) {
    for (size_t i = begin; i < std::min(begin + to_, out.size()); ++i) {
      const uint64_t output = first + i;
      const float* const from = samples + (first_input(output) - start);
      const float* const row = table_.data() + output * from_ % to_ * taps_;
      const bool is_whole = i + (kernel.outputs - 1) * to_ < out.size();
      if (is_whole) {
        kernel.several(from, from_, row, taps_, sums);
        for (size_t k = 0; k < kernel.outputs; ++k) out[i + k * to_] = sums[k];
        continue;
      }
      for (size_t k = 0; i + k * to_ < out.size(); ++k) kernel.one(from + k * from_, 0, row, taps_, &out[i + k * to_]);
    }
  }
}

// The weights lie between two rows.
void Resampler::run_mixed(const float* samples, uint64_t first, std::span<float> out) const {
  static const Kernel kernel = best_kernel();
  const int64_t start = first_input(first);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t rest = (first + i) * from_ % to_;
    const float* const from = samples + (first_input(first + i) - start);
    const double place = static_cast<double>(rest) / static_cast<double>(to_) * static_cast<double>(phases_);
    const auto row = static_cast<size_t>(place);
    const auto part = static_cast<float>(place - static_cast<double>(row));
    float before = 0, behind = 0;
    kernel.one(from, 0, table_.data() + row * taps_, taps_, &before);
    kernel.one(from, 0, table_.data() + (row + 1) * taps_, taps_, &behind);
    out[i] = before + (behind - before) * part;
  }
}

}  // namespace spdld::audio
