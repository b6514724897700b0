#include "config/mel_settings.h"

#include <algorithm>

namespace spdld::config {
namespace {

// The periodic window of openai/whisper's log_mel_spectrogram.
MelSettings whisper() {
  return {.fft = 400,
          .window = 400,
          .hop = 160,
          .mels = 80,
          .has_area_one = true,
          .drops_last = true,
          .values = MelValues::kWhisper};
}

// The defaults of torchaudio.transforms.MelSpectrogram.
MelSettings torchaudio() { return {.fft = 400, .window = 400, .hop = 200, .mels = 128, .scale = MelScale::kHtk}; }

// The defaults of librosa.feature.melspectrogram.
MelSettings librosa() {
  return {.fft = 2048, .window = 2048, .hop = 512, .mels = 128, .padding = MelPadding::kZeros, .has_area_one = true};
}

// The defaults of Kaldi's compute-fbank-feats without dither: frames of 25 ms every 10 ms.
MelSettings kaldi(int rate_hz) {
  MelSettings settings = {.window = static_cast<int>(rate_hz * 0.025),
                          .hop = static_cast<int>(rate_hz * 0.010),
                          .mels = 23,
                          .f_min_hz = 20,
                          .window_shape = MelWindow::kPovey,
                          .padding = MelPadding::kNone,
                          .scale = MelScale::kKaldi,
                          .is_kaldi = true,
                          .preemphasis = 0.97,
                          .floor = 0x1p-23,  // the float's epsilon
                          .values = MelValues::kLog,
                          .is_time_first = true};
  settings.fft = 1;
  while (settings.fft < settings.window) settings.fft *= 2;
  return settings;
}

MelSettings preset_named(const std::string& name, int rate_hz) {
  if (name == "whisper") return whisper();
  if (name == "torchaudio") return torchaudio();
  if (name == "librosa") return librosa();
  return kaldi(rate_hz);
}

void override_values(const OperationSpec& spec, MelSettings& settings) {
  const std::string& values = spec.text("values");
  if (values == "power") settings.values = MelValues::kPower;
  if (values == "db") settings.values = MelValues::kDb;
  if (values == "log") settings.values = MelValues::kLog;
  if (values == "log10") settings.values = MelValues::kLog10;
  if (values == "whisper") settings.values = MelValues::kWhisper;
}

// A transform takes about so many steps for each sample.
int greatest_factor(int number) {
  int greatest = 1;
  for (int factor = 2; factor * factor <= number; ++factor)
    for (; number % factor == 0; number /= factor) greatest = factor;
  return std::max(greatest, number);
}

}  // namespace

MelSettings mel_settings(const OperationSpec& spec, const Signature& takes) {
  const int rate_hz = takes.rate_hz.value();
  MelSettings settings = preset_named(spec.text("preset"), rate_hz);
  settings.rate_hz = rate_hz;
  const auto given = [&](std::string_view name, int& to) {
    if (const int64_t value = spec.integer(name); value != 0) to = static_cast<int>(value);
    return spec.integer(name) != 0;
  };
  const bool has_window = given("window", settings.window);
  const bool has_fft = given("n_fft", settings.fft);
  if (has_fft && !has_window && !settings.is_kaldi) settings.window = settings.fft;
  given("hop", settings.hop);
  given("mels", settings.mels);
  if (const double low = spec.number("f_min"); low >= 0) settings.f_min_hz = low;
  settings.f_max_hz = spec.number("f_max") > 0 ? spec.number("f_max") : rate_hz / 2.0;
  settings.amplitude = spec.number("amplitude");
  settings.top_db = spec.number("top_db");
  override_values(spec, settings);
  const std::string& layout = spec.text("layout");
  if (layout != "auto") settings.is_time_first = layout == "frames-first";
  if (layout == "auto" && !takes.dimensions[0].is_fixed()) settings.is_time_first = true;
  return settings;
}

int64_t MelSettings::frames(int64_t samples) const {
  if (padding == MelPadding::kNone) return samples < window ? 0 : 1 + (samples - window) / hop;
  if (padding == MelPadding::kReflect && samples <= fft / 2) return 0;
  if (samples < 1) return 0;
  return 1 + (samples + fft / 2 * 2 - fft) / hop - (drops_last ? 1 : 0);
}

std::string mel_fault(const MelSettings& settings) {
  if (settings.fft % 2 != 0) return "has an odd `n_fft`: it must be even";
  constexpr int kFactorMax = 64;
  if (greatest_factor(settings.fft) > kFactorMax)
    return "has an `n_fft` with a prime factor above 64, whose transform is slow: take another";
  if (settings.window > settings.fft)
    return "has a window of " + std::to_string(settings.window) + " samples, which is longer than its `n_fft` of " +
           std::to_string(settings.fft);
  if (settings.hop < 1) return "has frames less than one sample apart: write `hop`";
  if (settings.f_max_hz > settings.rate_hz / 2.0)
    return "has an `f_max` above half the rate of " + std::to_string(settings.rate_hz) + " samples a second";
  if (settings.f_min_hz >= settings.f_max_hz) return "has an `f_min` that is not below its `f_max`";
  return "";
}

}  // namespace spdld::config
