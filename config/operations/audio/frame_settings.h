// The settings of the frames that a sound is cut into, and of their Fourier transform: a preset's numbers, or the
// operation's own in their place. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

enum class FrameWindow : uint8_t { kHann, kPovey };             // periodic; symmetric, as Kaldi's
enum class FramePadding : uint8_t { kNone, kReflect, kZeros };  // of half an FFT on both sides

struct FrameSettings {
  int rate_hz = 0;
  int fft = 0, window = 0, hop = 0;  // samples
  FrameWindow window_shape = FrameWindow::kHann;
  FramePadding padding = FramePadding::kReflect;
  bool drops_last = false;  // the last frame is left out
  bool is_kaldi = false;    // each frame loses its mean, and is emphasised before the window
  double preemphasis = 0;
  double amplitude = 1;  // samples are multiplied by it

  int bins() const { return fft / 2 + 1; }  // of the transform
  // How many frames a sound of `samples` samples has; 0: it is too short.
  int64_t frames(int64_t samples) const;
};

// The frames of the operation's `preset`, with its `n_fft`, `window`, `hop` and `amplitude` in their place.
FrameSettings frame_settings(const OperationSpec& spec, int rate_hz);
// Whether the tensor is [frames, ...], as its `layout` says. Where that is "auto": as the preset has it, and for sounds
// that differ in length, since a tensor may differ in its first dimension alone.
bool has_time_first(const OperationSpec& spec, const Signature& takes, bool as_preset);
// Says what is wrong with them, as the end of a sentence about the operation; empty: nothing is.
std::string frame_fault(const FrameSettings& settings);

}  // namespace spdld::config
