#include "config/operation_types.h"
#include "config/operations/audio/mel_settings.h"
#include "config/operations/audio/spectra.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_mel(const OperationSpec& spec, Signature& signature) {
  if (std::string fault = spectra_fault(spec, signature); !fault.empty()) return fault;
  const MelSettings settings = mel_settings(spec, signature);
  if (std::string fault = mel_fault(settings); !fault.empty()) return fault;
  std::string fault = bind_spectra(spec, signature, settings.frames, {{settings.mels}, settings.is_time_first});
  if (fault.empty()) signature.tensor().holds = HeldSpectrogram{settings.is_time_first ? 0 : 1};
  return fault;
}

}  // namespace

OperationType mel_spectrogram() {
  std::vector<Parameter> parameters = {
      spectra_preset("whose spectrogram it is: Whisper's, torchaudio's MelSpectrogram, librosa's melspectrogram, or "
                     "Kaldi's fbank without dither",
                     {"whisper", "torchaudio", "librosa", "kaldi"})};
  const auto add = [&](const std::vector<Parameter>& more) {
    parameters.insert(parameters.end(), more.begin(), more.end());
  };
  add(band_parameters());
  add(frame_parameters());
  add({choice("values", "what is written of the power", {"preset", "power", "db", "log", "log10", "whisper"}, "preset"),
       number("top_db", "of db: nothing lies further below the greatest value; 0: no bound", 0, 0, 400)});
  add(spectra_tensor("mels-first"));
  return {.name = "mel-spectrogram",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kTensor,
          .help = "The sound's power in bands of the mel scale, frame by frame, as the preset's program gives it.",
          .parameters = std::move(parameters),
          .bind = bind_mel};
}

}  // namespace spdld::config::ops
