#include "config/operations/audio/spectrogram_settings.h"

#include "config/operation_types.h"
#include "config/operations/audio/spectra.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

// Masks are for the frames and bins of one plane: what is complex has two, and no time axis.
std::string bind_spectrogram(const OperationSpec& spec, Signature& signature) {
  if (std::string fault = spectra_fault(spec, signature); !fault.empty()) return fault;
  const SpectrogramSettings settings = spectrogram_settings(spec, signature);
  if (std::string fault = frame_fault(settings.frames); !fault.empty()) return fault;
  std::vector<Dimension> of_frame = {settings.frames.bins()};
  if (settings.is_complex) of_frame.insert(of_frame.begin(), 2);
  std::string fault = bind_spectra(spec, signature, settings.frames, {std::move(of_frame), settings.is_time_first});
  if (fault.empty() && !settings.is_complex) signature.tensor().holds = HeldSpectrogram{settings.is_time_first ? 0 : 1};
  return fault;
}

}  // namespace

OperationType spectrogram() {
  std::vector<Parameter> parameters = {
      spectra_preset("whose frames they are: Whisper's, torchaudio's Spectrogram, librosa's stft, or Kaldi's "
                     "compute-spectrogram-feats without dither",
                     {"whisper", "torchaudio", "librosa", "kaldi"})};
  const auto add = [&](const std::vector<Parameter>& more) {
    parameters.insert(parameters.end(), more.begin(), more.end());
  };
  add(frame_parameters());
  add({choice("values",
              "what is written of each bin: complex is a plane of real parts and then a plane of imaginary parts; "
              "preset: the power, librosa's magnitude, or Kaldi's logarithm with the frame's energy in the first bin",
              {"preset", "magnitude", "power", "complex", "db", "log"}, "preset"),
       number("top_db", "of db: nothing lies further below the greatest value; 0: no bound", 0, 0, 400)});
  add(spectra_tensor("bins-first"));
  return {.name = "spectrogram",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kTensor,
          .help =
              "The short-time Fourier transform of the sound: its power, magnitude or complex values in each bin, "
              "frame by frame.",
          .parameters = std::move(parameters),
          .bind = bind_spectrogram};
}

}  // namespace spdld::config::ops
