// The frames of a sound, ready for a Fourier transform: cut out, emphasised where they are Kaldi's, and windowed, in
// double precision. Constant after construction; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "config/operations/audio/frame_settings.h"
#include "daemon/media/signal/lanes.h"

namespace spdld::audio {

// Frames that are transformed together.
constexpr size_t kFrameLanes = kLanes<double>;

class Frames {
 public:
  explicit Frames(const config::FrameSettings& settings);

  // How many frames `samples` samples have; 0: they are too few.
  size_t count(size_t samples) const { return static_cast<size_t>(settings_.frames(static_cast<int64_t>(samples))); }
  size_t size() const { return static_cast<size_t>(settings_.fft); }  // of a frame, in samples
  // Memory of take().
  using Lines = std::array<std::vector<float>, kFrameLanes>;
  // Writes the frames from `first` on as size() rows of doubles: after the sound's last frame, it comes again. `lines`
  // is memory for the call. Returns each frame's energy where frames are Kaldi's: the sum of its squares without its
  // mean, before it is emphasised; 0 for others.
  std::array<double, kFrameLanes> take(std::span<const float> samples, size_t first, Lines& lines,
                                       std::span<double> rows) const;

 private:
  float sample_at(std::span<const float> samples, int64_t count, int64_t at) const;
  const float* line_of(std::span<const float> samples, int64_t begin, std::vector<float>& memory) const;
  // One frame, into its lane of the window's rows. Returns its energy.
  double write_emphasised(const float* samples, size_t lane, std::span<double> rows) const;

  config::FrameSettings settings_;
  std::vector<double> window_;  // with the amplitude, where frames are not emphasised
};

}  // namespace spdld::audio
