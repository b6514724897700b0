#include "config/operations/audio/spectra.h"

#include <utility>

#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr double kFftMax = 1 << 15, kMelsMax = 4096;

}  // namespace

Parameter of_preset(std::string_view name, std::string_view help, double max) {
  return {
      .name = name, .type = ParameterType::kInteger, .help = help, .fallback = Value(int64_t{0}), .min = 0, .max = max};
}

Parameter spectra_preset(std::string_view help, std::vector<std::string_view> choices) {
  Parameter preset = choice("preset", help, std::move(choices), "");
  preset.fallback.reset();
  return preset;
}

std::vector<Parameter> frame_parameters() {
  return {of_preset("n_fft", "samples of a Fourier transform; 0: as the preset", kFftMax),
          of_preset("window", "samples of a frame's window; 0: as the preset, or n_fft", kFftMax),
          of_preset("hop", "samples from frame to frame; 0: as the preset", 1 << 20),
          number("amplitude", "each sample is multiplied by it; Kaldi's own scale is 32768", 1, 1e-6, 1e6)};
}

std::vector<Parameter> band_parameters() {
  return {of_preset("mels", "how many bands there are; 0: as the preset", kMelsMax),
          number("f_min", "where the lowest band begins, in Hz; -1: as the preset", -1, -1, 384'000),
          number("f_max", "where the highest band ends, in Hz; 0: half the rate", 0, 0, 384'000)};
}

std::vector<Parameter> spectra_tensor(std::string_view first) {
  return {choice("layout",
                 "what comes first in the tensor; auto: as the preset, or frames-first where sounds differ in length",
                 {"auto", first, "frames-first"}, "auto"),
          choice("dtype", "of the tensor's elements", {"float32", "float16", "bfloat16"}, "float32")};
}

std::string spectra_fault(const OperationSpec& spec, const Signature& signature) {
  if (!signature.sound().rate_hz)
    return "needs to know the sound's rate: write rate = 16000, or another, in decode-audio";
  if (signature.sound().channels != 1) return "takes sounds of one channel: write channels = 1 in decode-audio";
  if (spec.text("preset") == "whisper" && *signature.sound().rate_hz != 16'000)
    return "has the preset \"whisper\", which is for a rate of 16000 samples a second, not " +
           std::to_string(*signature.sound().rate_hz);
  return "";
}

std::string bind_spectra(const OperationSpec& spec, Signature& signature, const FrameSettings& frames,
                         const FrameTensor& of) {
  const Dimension samples = signature.dimensions[0];
  if (!samples.is_fixed() && !of.is_time_first)
    return "has sounds that differ in length: leave layout out, or write layout = \"frames-first\", since a tensor may "
           "differ in its first dimension alone";
  Dimension count;
  if (samples.most()) {
    const int64_t most = frames.frames(*samples.most());
    if (most == 0)
      return "has sounds of " + std::to_string(*samples.most()) + " samples, which are too short for a frame";
    count = samples.is_fixed() ? Dimension(most) : Dimension::bounded(most);
  }
  std::vector<Dimension> dimensions = of.of_frame;
  dimensions.insert(of.is_time_first ? dimensions.begin() : dimensions.end(), count);
  signature = tensor(dtype_named(spec.text("dtype")), std::move(dimensions));
  return "";
}

}  // namespace spdld::config::ops
