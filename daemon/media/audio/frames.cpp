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

Frames::Frames(const FrameSettings& settings) : settings_(settings), window_(window_of(settings)) {
  if (!settings_.is_kaldi)
    for (double& weight : window_) weight *= settings_.amplitude;
}

// A window that is shorter than the transform stands in its middle; Kaldi's stands at its start.
std::array<double, kFrameLanes> Frames::take(std::span<const float> samples, size_t first, Lines& lines,
                                             std::span<double> rows) const {
  const auto fft = static_cast<int64_t>(size()), width = static_cast<int64_t>(window_.size());
  const int64_t before = settings_.is_kaldi ? 0 : (fft - width) / 2;
  const int64_t padding = settings_.padding == FramePadding::kNone ? 0 : fft / 2;
  const float* from[kFrameLanes];
  const size_t last = count(samples.size()) - 1;
  for (size_t lane = 0; lane < kFrameLanes; ++lane) {
    const auto number = static_cast<int64_t>(std::min(first + lane, last));
    from[lane] = line_of(samples, number * settings_.hop - padding + before, lines[lane]);
  }
  const auto begin = rows.begin() + before * static_cast<int64_t>(kFrameLanes);
  const auto end = begin + width * static_cast<int64_t>(kFrameLanes);
  std::fill(rows.begin(), begin, 0.0);
  std::fill(end, rows.end(), 0.0);
  const std::span<double> taken(begin, end);
  std::array<double, kFrameLanes> energies = {};
  if (settings_.is_kaldi) {
    for (size_t lane = 0; lane < kFrameLanes; ++lane) energies[lane] = write_emphasised(from[lane], lane, taken);
  } else {
    gather_weighed(from, window_, taken.data());
  }
  return energies;
}

// Where the sound holds all of the frame's samples, they are not copied.
const float* Frames::line_of(std::span<const float> samples, int64_t begin, std::vector<float>& memory) const {
  const auto count = static_cast<int64_t>(samples.size()), width = static_cast<int64_t>(window_.size());
  if (begin >= 0 && begin + width <= count) return samples.data() + begin;
  memory.resize(window_.size());
  for (int64_t i = 0; i < width; ++i) memory[static_cast<size_t>(i)] = sample_at(samples, count, begin + i);
  return memory.data();
}

// Beyond the ends of the sound lies its mirror image, or silence.
float Frames::sample_at(std::span<const float> samples, int64_t count, int64_t at) const {
  if (at < 0 || at >= count) {
    if (settings_.padding != FramePadding::kReflect) return 0;
    at = at < 0 ? -at : 2 * (count - 1) - at;
  }
  return samples[static_cast<size_t>(at)];
}

double Frames::write_emphasised(const float* samples, size_t lane, std::span<double> rows) const {
  const auto at = [&](size_t i) -> double& { return rows[i * kFrameLanes + lane]; };
  const size_t width = window_.size();
  double mean = 0, energy = 0;
  for (size_t i = 0; i < width; ++i) mean += at(i) = static_cast<double>(samples[i]) * settings_.amplitude;
  mean /= static_cast<double>(width);
  for (size_t i = 0; i < width; ++i) {
    at(i) -= mean;
    energy += at(i) * at(i);
  }
  for (size_t i = width - 1; i > 0; --i) at(i) = (at(i) - settings_.preemphasis * at(i - 1)) * window_[i];
  at(0) = (at(0) - settings_.preemphasis * at(0)) * window_[0];
  return energy;
}

}  // namespace spdld::audio
