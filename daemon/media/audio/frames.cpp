#include "daemon/media/audio/frames.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spdld::audio {
namespace {

using config::FramePadding;
using config::FrameSettings;
using config::FrameWindow;

std::vector<double> window_of(const FrameSettings& settings) {
  const auto size = static_cast<size_t>(settings.window);
  const bool is_povey = settings.window_shape == FrameWindow::kPovey;
  const double period = static_cast<double>(is_povey ? std::max<size_t>(size - 1, 1) : size);
  std::vector<double> window(size);
  for (size_t i = 0; i < size; ++i) {
    const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / period);
    window[i] = is_povey ? std::pow(hann, 0.85) : hann;
  }
  return window;
}

}  // namespace

Frames::Frames(const FrameSettings& settings) : settings_(settings), window_(window_of(settings)) {}

// A window that is shorter than the transform stands in its middle; Kaldi's stands at its start.
double Frames::take(std::span<const float> samples, size_t number, std::span<double> frame) const {
  const auto fft = static_cast<int64_t>(frame.size()), width = static_cast<int64_t>(window_.size());
  const int64_t before = settings_.is_kaldi ? 0 : (fft - width) / 2;
  const int64_t padding = settings_.padding == FramePadding::kNone ? 0 : fft / 2;
  const int64_t begin = static_cast<int64_t>(number) * settings_.hop - padding + before;
  const std::span<double> taken = frame.subspan(static_cast<size_t>(before), window_.size());
  const auto count = static_cast<int64_t>(samples.size());
  for (int64_t i = 0; i < width; ++i) taken[static_cast<size_t>(i)] = sample_at(samples, count, begin + i);
  const double energy = settings_.is_kaldi ? emphasise(taken) : 0;
  for (size_t i = 0; i < taken.size(); ++i) taken[i] *= window_[i];
  return energy;
}

// Beyond the ends of the sound lies its mirror image, or silence.
double Frames::sample_at(std::span<const float> samples, int64_t count, int64_t at) const {
  if (at < 0 || at >= count) {
    if (settings_.padding != FramePadding::kReflect) return 0;
    at = at < 0 ? -at : 2 * (count - 1) - at;
  }
  return static_cast<double>(samples[static_cast<size_t>(at)]) * settings_.amplitude;
}

double Frames::emphasise(std::span<double> frame) const {
  double mean = 0, energy = 0;
  for (const double sample : frame) mean += sample;
  mean /= static_cast<double>(frame.size());
  for (double& sample : frame) sample -= mean, energy += sample * sample;
  for (size_t i = frame.size() - 1; i > 0; --i) frame[i] -= settings_.preemphasis * frame[i - 1];
  frame[0] -= settings_.preemphasis * frame[0];
  return energy;
}

}  // namespace spdld::audio
