#include "config/operations/audio/spectrogram_settings.h"

namespace spdld::config {

// torchaudio.transforms.Spectrogram and Whisper take the power, and librosa's features the magnitude of its stft.
SpectrogramSettings spectrogram_settings(const OperationSpec& spec, const Signature& takes) {
  const std::string& preset = spec.text("preset");
  const std::string& values = spec.text("values");
  SpectrogramSettings settings{.frames = frame_settings(spec, takes.sound().rate_hz.value())};
  const bool is_kaldi = settings.frames.is_kaldi;
  if (is_kaldi) settings.levels.floor = kKaldiFloor;
  settings.levels.values = power_values(values, is_kaldi              ? PowerValues::kLog
                                                : preset == "librosa" ? PowerValues::kMagnitude
                                                                      : PowerValues::kPower);
  settings.levels.top_db = spec.number("top_db");
  settings.is_complex = values == "complex";
  settings.has_energy = is_kaldi && values == "preset";
  settings.is_time_first = has_time_first(spec, takes, is_kaldi);
  return settings;
}

}  // namespace spdld::config
