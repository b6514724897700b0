#include "config/operations/audio/cepstrum_settings.h"

namespace spdld::config {
namespace {

constexpr double kTopDb = 80;  // of librosa.power_to_db and torchaudio.transforms.AmplitudeToDB

}  // namespace

// librosa.feature.mfcc and torchaudio.transforms.MFCC take decibels of their mel spectrograms; the latter adds 1e-6
// before its logarithm. Kaldi's compute-mfcc-feats takes the natural logarithm of its bands.
CepstrumSettings cepstrum_settings(const OperationSpec& spec, const Signature& takes) {
  const std::string& preset = spec.text("preset");
  CepstrumSettings settings{.mel = mel_settings(spec, takes)};
  PowerLevels& levels = settings.mel.levels;
  const bool is_kaldi = preset == "kaldi", is_torchaudio = preset == "torchaudio";
  levels.values = power_values(spec.text("values"), is_kaldi ? PowerValues::kLog : PowerValues::kDb);
  if (is_torchaudio && levels.values == PowerValues::kLog) {
    levels.floor = 0;
    levels.offset = 1e-6;
  }
  if (levels.top_db < 0) levels.top_db = is_kaldi ? 0 : kTopDb;
  settings.coefficients = is_kaldi ? 13 : is_torchaudio ? 40 : 20;
  if (const int64_t given = spec.integer("coefficients"); given != 0) settings.coefficients = static_cast<int>(given);
  settings.lifter = spec.number("lifter") >= 0 ? spec.number("lifter") : is_kaldi ? 22 : 0;
  settings.lifter_first = preset == "librosa" ? 1 : 0;
  settings.has_energy = spec.flag("energy");
  return settings;
}

std::string cepstrum_fault(const CepstrumSettings& settings) {
  if (std::string fault = mel_fault(settings.mel); !fault.empty()) return fault;
  if (settings.coefficients > settings.mel.mels)
    return "has " + std::to_string(settings.coefficients) + " `coefficients` of " + std::to_string(settings.mel.mels) +
           " bands: there can't be more coefficients than bands";
  if (settings.has_energy && !settings.mel.frames.is_kaldi)
    return "has `energy`, which the preset \"kaldi\" alone can have";
  return "";
}

}  // namespace spdld::config
