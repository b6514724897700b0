// Changes the rate of sound by a filter: the sum of input samples, weighted by a sinc under a Kaiser window. It passes
// 91 % of the band that both rates have, and what would fold into the other 9 % is 120 dB down, as in the "HQ" of soxr.
// Between rates with small factors, blocks of the sound are filtered by Fourier transforms; between others, each output
// sample is a sum of its own. Either way a segment has the very samples that the whole sound has there, which no
// resampler with a state across samples gives. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/media/signal/block_resampler.h"

namespace spdld::audio {

class Resampler {
 public:
  // From `from` samples a time to `to`. Preconditions: both are above 0, and neither is above 1000 times the other.
  Resampler(uint64_t from, uint64_t to);

  uint64_t from() const { return from_; }  // with `to`, without their common divisor
  uint64_t to() const { return to_; }
  // How many samples `inputs` samples become: their time, rounded up.
  uint64_t outputs(uint64_t inputs) const { return (inputs * to_ + from_ - 1) / from_; }

  struct Range {
    uint64_t first, count;
  };
  // The part of the sound's `total` samples that makes the output samples [first, first + count). At least one sample.
  Range inputs(uint64_t first, uint64_t count, uint64_t total) const;
  // Writes the output samples [first, first + out.size()). `in` holds the sound's samples from `in_first` on, at least
  // what inputs() says; beyond them it is silent. `memory` is a thread's own, for work on the way.
  void run(std::span<const float> in, uint64_t in_first, uint64_t first, std::span<float> out,
           ByteBuffer& memory) const;

 private:
  void make_table(double lower, double middle);
  // The first of the input samples that the taps of an output lie on; it may lie before the sound.
  int64_t first_input(uint64_t output) const;
  uint64_t first_output(int64_t place) const;
  // The outputs, counted from `first` on, all of whose taps lie on samples: [first of them, behind the last).
  std::pair<size_t, size_t> inner(size_t inputs, uint64_t in_first, uint64_t first, size_t outputs) const;
  float at_edge(std::span<const float> in, uint64_t in_first, uint64_t output, std::vector<float>& edge) const;
  // `samples` are where the taps of the first output begin.
  void run_exact(const float* samples, uint64_t first, std::span<float> out) const;
  void run_mixed(const float* samples, uint64_t first, std::span<float> out) const;

  uint64_t from_, to_;
  size_t half_ = 0;       // taps on each side
  size_t taps_ = 0;       // 2 * half_
  size_t phases_ = 0;     // rows of the table, without the one behind the last
  bool is_exact_ = true;  // there is a row for each place between two samples; else neighbouring rows are mixed
  std::vector<float> table_;
  std::optional<BlockResampler> blocks_;  // which needs no table
};

}  // namespace spdld::audio
