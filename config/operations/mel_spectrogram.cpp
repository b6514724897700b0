#include "config/mel_settings.h"
#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

constexpr double kFftMax = 1 << 15, kMelsMax = 4096;

Parameter of_preset(std::string_view name, std::string_view help, double max) {
  return {
      .name = name, .type = ParameterType::kInteger, .help = help, .fallback = Value(int64_t{0}), .min = 0, .max = max};
}

std::string bind_mel(const OperationSpec& spec, Signature& signature) {
  if (!signature.rate_hz) return "needs to know the sound's rate: write rate = 16000, or another, in decode-audio";
  if (signature.channels != 1) return "takes sounds of one channel: write channels = 1 in decode-audio";
  const std::string& preset = spec.text("preset");
  if (preset == "whisper" && *signature.rate_hz != 16'000)
    return "has the preset \"whisper\", which is for a rate of 16000 samples a second, not " +
           std::to_string(*signature.rate_hz);
  const MelSettings settings = mel_settings(spec, signature);
  if (std::string fault = mel_fault(settings); !fault.empty()) return fault;
  const Dimension samples = signature.dimensions[0];
  if (!samples.is_fixed() && !settings.is_time_first)
    return "has sounds that differ in length: leave layout out, or write layout = \"frames-first\", since a tensor may "
           "differ in its first dimension alone";
  Dimension frames;
  if (samples.most()) {
    const int64_t most = settings.frames(*samples.most());
    if (most == 0)
      return "has sounds of " + std::to_string(*samples.most()) + " samples, which are too short for a frame";
    frames = samples.is_fixed() ? Dimension(most) : Dimension::bounded(most);
  }
  std::vector<Dimension> dimensions = {frames, settings.mels};
  if (!settings.is_time_first) dimensions = {settings.mels, frames};
  signature = tensor(dtype_named(spec.text("dtype")), std::move(dimensions));
  signature.time_axis = settings.is_time_first ? 0 : 1;
  return "";
}

}  // namespace

OperationType mel_spectrogram() {
  Parameter preset = choice("preset",
                            "whose spectrogram it is: Whisper's, torchaudio's MelSpectrogram, librosa's "
                            "melspectrogram, or Kaldi's fbank without dither",
                            {"whisper", "torchaudio", "librosa", "kaldi"}, "");
  preset.fallback.reset();
  return {
      .name = "mel-spectrogram",
      .takes = Kind::kAudio,
      .gives = Kind::kTensor,
      .help = "The sound's power in bands of the mel scale, frame by frame, as the preset's program gives it.",
      .parameters = {preset, of_preset("mels", "how many bands there are; 0: as the preset", kMelsMax),
                     of_preset("n_fft", "samples of a Fourier transform; 0: as the preset", kFftMax),
                     of_preset("window", "samples of a frame's window; 0: as the preset, or n_fft", kFftMax),
                     of_preset("hop", "samples from frame to frame; 0: as the preset", 1 << 20),
                     number("f_min", "where the lowest band begins, in Hz; -1: as the preset", -1, -1, 384'000),
                     number("f_max", "where the highest band ends, in Hz; 0: half the rate", 0, 0, 384'000),
                     choice("values", "what is written of the power",
                            {"preset", "power", "db", "log", "log10", "whisper"}, "preset"),
                     number("top_db", "of db: nothing lies further below the greatest value; 0: no bound", 0, 0, 400),
                     number("amplitude", "each sample is multiplied by it; Kaldi's own scale is 32768", 1, 1e-6, 1e6),
                     choice("layout",
                            "order of bands and frames; auto: as the preset, or frames-first where sounds "
                            "differ in length",
                            {"auto", "mels-first", "frames-first"}, "auto"),
                     choice("dtype", "of the tensor's elements", {"float32", "float16", "bfloat16"}, "float32")},
      .bind = bind_mel};
}

}  // namespace spdld::config::ops
