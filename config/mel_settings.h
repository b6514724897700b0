// The settings of a mel spectrogram: a preset's numbers, or the operation's own in their place. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

enum class MelWindow : uint8_t { kHann, kPovey };             // periodic; symmetric, as Kaldi's
enum class MelPadding : uint8_t { kNone, kReflect, kZeros };  // of half an FFT on both sides
enum class MelScale : uint8_t { kSlaney, kHtk, kKaldi };
enum class MelValues : uint8_t {
  kPower,
  kDb,   // 10 log10, and nothing below the greatest one minus top_db
  kLog,  // natural
  kLog10,
  kWhisper  // log10, nothing below the greatest one minus 8, plus 4, divided by 4
};

struct MelSettings {
  int rate_hz = 0;
  int fft = 0, window = 0, hop = 0;  // samples
  int mels = 0;
  double f_min_hz = 0, f_max_hz = 0;
  MelWindow window_shape = MelWindow::kHann;
  MelPadding padding = MelPadding::kReflect;
  MelScale scale = MelScale::kSlaney;
  bool has_area_one = false;  // filters are divided by their width: Slaney's norm
  bool drops_last = false;    // the last frame is left out
  bool is_kaldi = false;      // each frame loses its mean, and is emphasised before the window
  double preemphasis = 0;
  double amplitude = 1;  // samples are multiplied by it
  double floor = 1e-10;  // of the power, before a logarithm
  double top_db = 0;     // of kDb; 0: there is no lower bound
  MelValues values = MelValues::kPower;
  bool is_time_first = false;  // the tensor is [frames, mels]

  // Frames of a sound of so many samples; 0: it is too short.
  int64_t frames(int64_t samples) const;
};

// `takes`: the sound, of a known rate.
MelSettings mel_settings(const OperationSpec& spec, const Signature& takes);
// Says what is wrong with them, as the end of a sentence about the operation; empty: nothing is.
std::string mel_fault(const MelSettings& settings);

}  // namespace spdld::config
