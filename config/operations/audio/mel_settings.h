// The settings of a mel spectrogram: a preset's numbers, or the operation's own in their place. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "config/operations/audio/frame_settings.h"
#include "config/operations/audio/power_levels.h"
#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

enum class MelScale : uint8_t { kSlaney, kHtk, kKaldi };

struct MelSettings {
  FrameSettings frames = {};
  int mels = 0;
  double f_min_hz = 0, f_max_hz = 0;
  MelScale scale = MelScale::kSlaney;
  bool has_area_one = false;  // filters are divided by their width: Slaney's norm
  PowerLevels levels = {};
  bool is_time_first = false;  // the tensor is [frames, mels]
};

// `takes`: the sound, of a known rate.
MelSettings mel_settings(const OperationSpec& spec, const Signature& takes);
// Says what is wrong with them, as the end of a sentence about the operation; empty: nothing is.
std::string mel_fault(const MelSettings& settings);

}  // namespace spdld::config
