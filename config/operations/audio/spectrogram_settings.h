// The settings of a spectrogram: a preset's numbers, or the operation's own in their place. Pure functions; any thread.
#pragma once

#include <string>

#include "config/operations/audio/frame_settings.h"
#include "config/operations/audio/power_levels.h"

namespace spdld::config {

struct SpectrogramSettings {
  FrameSettings frames = {};
  PowerLevels levels = {};
  bool is_complex = false;  // the real parts of all bins and then the imaginary ones, instead of levels
  // The first bin is the logarithm of the frame's energy, as in Kaldi's compute-spectrogram-feats.
  bool has_energy = false;
  bool is_time_first = false;

  int values() const { return frames.bins() * (is_complex ? 2 : 1); }  // of a frame
};

// `takes`: the sound, of a known rate.
SpectrogramSettings spectrogram_settings(const OperationSpec& spec, const Signature& takes);

}  // namespace spdld::config
