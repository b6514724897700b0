// A resampler's filter, applied to blocks of the sound by Fourier transforms: a fifth of the work of weighing each
// sample by each tap. Blocks lie at fixed places of the sound and are made of their own samples alone, so that a
// segment has the very samples that the whole sound has there. The filter's rest beyond half of the lower rate,
// which is 125 dB down, is left out. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/signal/fourier.h"

namespace spdld::audio {

class BlockResampler {
 public:
  // The filter's weight of a sample that lies `distance` samples from the output's time.
  using Filter = std::function<double(double distance)>;

  // From `from` samples a time to `to`, which have no common divisor. The filter reaches `half` samples to each side.
  // Nothing: their blocks would have no transform that is worth it.
  static std::optional<BlockResampler> of(uint64_t from, uint64_t to, size_t half, const Filter& filter);

  // The first of the input samples that the output `first` needs, and the sample behind the last one for `last`.
  uint64_t inputs_begin(uint64_t first) const;
  uint64_t inputs_end(uint64_t last) const;
  // `memory` is a thread's own, for work on the way.
  void run(std::span<const float> in, uint64_t in_first, uint64_t first, std::span<float> out,
           ByteBuffer& memory) const;

 private:
  // In units of `from` samples of input and `to` samples of output.
  struct Sizes {
    size_t block;  // that are transformed together
    size_t edge;   // of them, at each end, whose outputs are not all of the block's
  };
  class Resampling;

  BlockResampler(uint64_t from, uint64_t to, const Sizes& sizes, size_t half, const Filter& filter);

  size_t in_size_, out_size_;  // samples that are transformed
  size_t in_step_, out_step_;  // from a block to the next one
  size_t in_edge_, out_edge_;  // samples before a block's own
  RealFourier<float> forward_, backward_;
  std::vector<float> gains_;  // by bin; beyond them nothing is passed
};

}  // namespace spdld::audio
