// The convolution of a sound with a response, by Fourier transforms of blocks (overlap-save), in single precision: what
// is lost lies 120 dB below the loudest value. One thread an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "daemon/media/work_guard.h"

namespace spdld::audio {

inline constexpr size_t kResponseMax = size_t{1} << 18;  // samples: 16 s at 16 kHz

class Convolution {
 public:
  Convolution();
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  // to[t] = sum over k of response[k] * samples[t + shift - k], where `samples` is silent beyond its ends. `to` is as
  // long as `samples`, and no part of it. Preconditions: the response has 1 to kResponseMax values, shift is below
  // that. `guard` is told of each part of the work; null: nobody is.
  void run(std::span<const float> samples, std::span<const float> response, size_t shift, std::span<float> to,
           media::WorkGuard* guard = nullptr);
  // The memory that run() takes.
  static uint64_t bytes_of(size_t samples, size_t response, size_t shift);
  // Keeps at most `bytes_max` bytes of memory.
  void shrink(size_t bytes_max);

 private:
  struct Transform;
  std::unique_ptr<Transform> transform_;  // of the size that was needed last
};

}  // namespace spdld::audio
