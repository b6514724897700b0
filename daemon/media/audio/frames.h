// The frames of a sound, ready for a Fourier transform: cut out, emphasised where they are Kaldi's, and windowed, in
// double precision. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "config/frame_settings.h"

namespace spdld::audio {

class Frames {
 public:
  explicit Frames(const config::FrameSettings& settings);

  // How many frames so many samples have; 0: they are too few.
  size_t count(size_t samples) const { return static_cast<size_t>(settings_.frames(static_cast<int64_t>(samples))); }
  size_t size() const { return static_cast<size_t>(settings_.fft); }  // of a frame, in samples
  // Writes frame `number`. The places beside the window must hold zeros, and are left alone. Returns the frame's energy
  // where frames are Kaldi's: the sum of its squares without its mean, before it is emphasised; 0 for others.
  double take(std::span<const float> samples, size_t number, std::span<double> frame) const;

 private:
  double sample_at(std::span<const float> samples, int64_t count, int64_t at) const;
  double emphasise(std::span<double> frame) const;

  config::FrameSettings settings_;
  std::vector<double> window_;
};

}  // namespace spdld::audio
