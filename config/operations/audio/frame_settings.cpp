#include "config/operations/audio/frame_settings.h"

#include <algorithm>

namespace spdld::config {
namespace {

// The frames of Kaldi's programs without dither: 25 ms every 10 ms.
FrameSettings kaldi(int rate_hz) {
  FrameSettings settings = {.window = static_cast<int>(rate_hz * 0.025),
                            .hop = static_cast<int>(rate_hz * 0.010),
                            .window_shape = FrameWindow::kPovey,
                            .padding = FramePadding::kNone,
                            .is_kaldi = true,
                            .preemphasis = 0.97};
  settings.fft = 1;
  while (settings.fft < settings.window) settings.fft *= 2;
  return settings;
}

// The periodic window of openai/whisper's log_mel_spectrogram; the defaults of torchaudio.transforms.Spectrogram and of
// librosa.stft.
FrameSettings preset_named(const std::string& name, int rate_hz) {
  if (name == "whisper") return {.fft = 400, .window = 400, .hop = 160, .drops_last = true};
  if (name == "torchaudio") return {.fft = 400, .window = 400, .hop = 200};
  if (name == "librosa") return {.fft = 2048, .window = 2048, .hop = 512, .padding = FramePadding::kZeros};
  return kaldi(rate_hz);
}

// A transform takes about so many steps for each sample.
int greatest_factor(int number) {
  int greatest = 1;
  for (int factor = 2; factor * factor <= number; ++factor)
    for (; number % factor == 0; number /= factor) greatest = factor;
  return std::max(greatest, number);
}

}  // namespace

FrameSettings frame_settings(const OperationSpec& spec, int rate_hz) {
  FrameSettings settings = preset_named(spec.text("preset"), rate_hz);
  settings.rate_hz = rate_hz;
  const auto given = [&](std::string_view name, int& to) {
    if (const int64_t value = spec.integer(name); value != 0) to = static_cast<int>(value);
    return spec.integer(name) != 0;
  };
  const bool has_window = given("window", settings.window);
  const bool has_fft = given("n_fft", settings.fft);
  if (has_fft && !has_window && !settings.is_kaldi) settings.window = settings.fft;
  given("hop", settings.hop);
  settings.amplitude = spec.number("amplitude");
  return settings;
}

bool has_time_first(const OperationSpec& spec, const Signature& takes, bool as_preset) {
  const std::string& layout = spec.text("layout");
  if (layout != "auto") return layout == "frames-first";
  return as_preset || !takes.dimensions[0].is_fixed();
}

int64_t FrameSettings::frames(int64_t samples) const {
  if (padding == FramePadding::kNone) return samples < window ? 0 : 1 + (samples - window) / hop;
  if (padding == FramePadding::kReflect && samples <= fft / 2) return 0;
  if (samples < 1) return 0;
  return 1 + (samples + fft / 2 * 2 - fft) / hop - (drops_last ? 1 : 0);
}

std::string frame_fault(const FrameSettings& settings) {
  if (settings.fft % 2 != 0) return "has an odd `n_fft`: it must be even";
  constexpr int kFactorMax = 64;
  if (greatest_factor(settings.fft) > kFactorMax)
    return "has an `n_fft` with a prime factor above 64, whose transform is slow: take another";
  if (settings.window > settings.fft)
    return "has a window of " + std::to_string(settings.window) + " samples, which is longer than its `n_fft` of " +
           std::to_string(settings.fft);
  if (settings.hop < 1) return "has frames less than one sample apart: write `hop`";
  return "";
}

}  // namespace spdld::config
