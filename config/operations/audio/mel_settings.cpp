#include "config/operations/audio/mel_settings.h"

namespace spdld::config {
namespace {

// openai/whisper's log_mel_spectrogram.
MelSettings whisper() { return {.mels = 80, .has_area_one = true, .levels = {.values = PowerValues::kWhisper}}; }

// The defaults of torchaudio.transforms.MelSpectrogram.
MelSettings torchaudio() { return {.mels = 128, .scale = MelScale::kHtk}; }

// The defaults of librosa.feature.melspectrogram.
MelSettings librosa() { return {.mels = 128, .has_area_one = true}; }

// The defaults of Kaldi's compute-fbank-feats.
MelSettings kaldi() {
  return {.mels = 23,
          .f_min_hz = 20,
          .scale = MelScale::kKaldi,
          .levels = {.values = PowerValues::kLog, .floor = kKaldiFloor},
          .is_time_first = true};
}

MelSettings preset_named(const std::string& name) {
  if (name == "whisper") return whisper();
  if (name == "torchaudio") return torchaudio();
  if (name == "librosa") return librosa();
  return kaldi();
}

}  // namespace

MelSettings mel_settings(const OperationSpec& spec, const Signature& takes) {
  const int rate_hz = takes.sound().rate_hz.value();
  MelSettings settings = preset_named(spec.text("preset"));
  settings.frames = frame_settings(spec, rate_hz);
  if (const int64_t mels = spec.integer("mels"); mels != 0) settings.mels = static_cast<int>(mels);
  if (const double low = spec.number("f_min"); low >= 0) settings.f_min_hz = low;
  settings.f_max_hz = spec.number("f_max") > 0 ? spec.number("f_max") : rate_hz / 2.0;
  settings.levels.values = power_values(spec.text("values"), settings.levels.values);
  settings.levels.top_db = spec.number("top_db");
  settings.is_time_first = has_time_first(spec, takes, settings.is_time_first);
  return settings;
}

std::string mel_fault(const MelSettings& settings) {
  if (std::string fault = frame_fault(settings.frames); !fault.empty()) return fault;
  const int rate_hz = settings.frames.rate_hz;
  if (settings.f_max_hz > rate_hz / 2.0)
    return "has an `f_max` above half the rate of " + std::to_string(rate_hz) + " samples a second";
  if (settings.f_min_hz >= settings.f_max_hz) return "has an `f_min` that is not below its `f_max`";
  return "";
}

}  // namespace spdld::config
