#include "daemon/media/audio/mel_bank.h"

#include <algorithm>
#include <cmath>

namespace spdld::audio {
namespace {

using config::MelScale;

// Slaney's Auditory Toolbox: linear up to 1000 Hz, and 27 steps for each factor of 6.4 beyond.
constexpr double kSlaneyBreak_hz = 1000, kSlaneyBreak_mel = 15, kSlaneyStep_hz = 200.0 / 3;
const double kSlaneyLog = std::log(6.4) / 27;

double mel_of(MelScale scale, double f_hz) {
  switch (scale) {
    case MelScale::kSlaney:
      if (f_hz < kSlaneyBreak_hz) return f_hz / kSlaneyStep_hz;
      return kSlaneyBreak_mel + std::log(f_hz / kSlaneyBreak_hz) / kSlaneyLog;
    case MelScale::kHtk:
      return 2595 * std::log10(1 + f_hz / 700);
    case MelScale::kKaldi:
      return 1127 * std::log(1 + f_hz / 700);
  }
  return 0;
}

double hz_of(MelScale scale, double mel) {
  switch (scale) {
    case MelScale::kSlaney:
      if (mel < kSlaneyBreak_mel) return mel * kSlaneyStep_hz;
      return kSlaneyBreak_hz * std::exp((mel - kSlaneyBreak_mel) * kSlaneyLog);
    case MelScale::kHtk:
      return 700 * (std::pow(10, mel / 2595) - 1);
    case MelScale::kKaldi:
      return 700 * (std::exp(mel / 1127) - 1);
  }
  return 0;
}

}  // namespace

// Kaldi's triangles are straight in mel, the others' in Hz. Kaldi leaves the last bin out.
MelBank::MelBank(const config::MelSettings& settings) {
  const bool is_kaldi = settings.frames.is_kaldi;
  const double low = mel_of(settings.scale, settings.f_min_hz), high = mel_of(settings.scale, settings.f_max_hz);
  const double bin_hz = static_cast<double>(settings.frames.rate_hz) / settings.frames.fft;
  const size_t bins = static_cast<size_t>(settings.frames.bins()) - (is_kaldi ? 1 : 0);
  const auto edge = [&](int i) {
    const double mel = low + (high - low) * i / (settings.mels + 1);
    return is_kaldi ? mel : hz_of(settings.scale, mel);
  };
  for (int i = 0; i < settings.mels; ++i) {
    const double left = edge(i), middle = edge(i + 1), right = edge(i + 2);
    const double scale = settings.has_area_one ? 2 / (right - left) : 1;
    const auto bin_of = [&](double at) { return (is_kaldi ? hz_of(settings.scale, at) : at) / bin_hz; };
    const auto begin = static_cast<size_t>(std::max(0.0, bin_of(left) - 1));
    const size_t end = std::min(bins, static_cast<size_t>(bin_of(right) + 2));
    WeighedSum filter = {0, 0};
    for (size_t bin = begin; bin < end; ++bin) {
      const double f_hz = static_cast<double>(bin) * bin_hz;
      const double at = is_kaldi ? mel_of(settings.scale, f_hz) : f_hz;
      const double weight = std::min((at - left) / (middle - left), (right - at) / (right - middle));
      if (!(weight > 0)) continue;
      if (filter.count == 0) filter.first = static_cast<uint32_t>(bin);
      ++filter.count;
      weights_.push_back(weight * scale);
    }
    filters_.push_back(filter);
  }
}

void MelBank::apply(std::span<const double> power, std::span<double> mels) const {
  add_weighed(filters_, weights_.data(), power.data(), mels.data());
}

}  // namespace spdld::audio
