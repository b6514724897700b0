#include "config/operation_types.h"
#include "config/operations/audio/cepstrum_settings.h"
#include "config/operations/audio/spectra.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_cepstrum(const OperationSpec& spec, Signature& signature) {
  if (std::string fault = spectra_fault(spec, signature); !fault.empty()) return fault;
  const CepstrumSettings settings = cepstrum_settings(spec, signature);
  if (std::string fault = cepstrum_fault(settings); !fault.empty()) return fault;
  const bool is_time_first = settings.mel.is_time_first;
  std::string fault = bind_spectra(spec, signature, settings.mel.frames, {{settings.coefficients}, is_time_first});
  if (fault.empty()) signature.tensor().holds = HeldSpectrogram{is_time_first ? 0 : 1};
  return fault;
}

}  // namespace

OperationType mfcc() {
  std::vector<Parameter> parameters = {
      spectra_preset("whose coefficients they are: librosa's feature.mfcc, torchaudio's MFCC, or Kaldi's "
                     "compute-mfcc-feats without dither and energy",
                     {"librosa", "torchaudio", "kaldi"}),
      of_preset("coefficients", "how many there are; 0: as the preset", 4096)};
  const auto add = [&](const std::vector<Parameter>& more) {
    parameters.insert(parameters.end(), more.begin(), more.end());
  };
  add(band_parameters());
  add(frame_parameters());
  add({choice("values", "what the coefficients are made of: decibels or the natural logarithm of the bands' power",
              {"preset", "db", "log"}, "preset"),
       number("top_db", "of db: nothing lies further below the greatest value; 0: no bound; -1: as the preset", -1, -1,
              400),
       number("lifter", "how much the higher coefficients are lifted; 0: not at all; -1: as the preset", -1, -1, 4096),
       flag("energy", "of Kaldi: the first coefficient is the logarithm of the frame's energy", false)});
  add(spectra_tensor("coefficients-first"));
  return {.name = "mfcc",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kTensor,
          .help =
              "Cepstral coefficients of the sound's mel spectrogram, frame by frame, as the preset's program gives "
              "them.",
          .parameters = std::move(parameters),
          .bind = bind_cepstrum};
}

}  // namespace spdld::config::ops
