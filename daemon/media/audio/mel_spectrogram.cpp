// mel-spectrogram: frames are windowed, transformed and filtered in double precision, one after the other.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "config/mel_settings.h"
#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/audio/elements.h"
#include "daemon/media/audio/mel_bank.h"
#include "daemon/media/audio/spectrum.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

using config::MelPadding;
using config::MelSettings;
using config::MelValues;
using config::MelWindow;

// The memory and the transform that a thread keeps.
struct MelThread {
  explicit MelThread(const media::DecodeLimits&) {}
  void shrink(size_t bytes_max) {
    if (values.capacity() * sizeof(float) > bytes_max) values = {};
  }
  Spectrum& spectrum_of(size_t size) {
    if (spectrum_size != size) spectrum = std::make_unique<Spectrum>(size), spectrum_size = size;
    return *spectrum;
  }

  std::unique_ptr<Spectrum> spectrum;
  size_t spectrum_size = 0;
  std::vector<double> frame, power, mels;
  std::vector<float> values;  // [frames, mels]
};

std::vector<double> window_of(const MelSettings& settings) {
  const auto size = static_cast<size_t>(settings.window);
  const bool is_povey = settings.window_shape == MelWindow::kPovey;
  const double period = static_cast<double>(is_povey ? std::max<size_t>(size - 1, 1) : size);
  std::vector<double> window(size);
  for (size_t i = 0; i < size; ++i) {
    const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / period);
    window[i] = is_povey ? std::pow(hann, 0.85) : hann;
  }
  return window;
}

class MelSpectrogram final : public media::Node {
 public:
  explicit MelSpectrogram(const media::Part& part)
      : output_(part.output),
        settings_(config::mel_settings(part.spec, part.takes)),
        bank_(settings_),
        window_(window_of(settings_)),
        dtype_(part.gives.dtype),
        varies_(!part.takes.dimensions[0].is_fixed()) {}

 private:
  Status run(media::Value& value, const media::Run& run) const override {
    auto& thread = run.workspace.of<MelThread>();
    const std::span<const float> samples = value.sound->plane(0);
    const auto frames = static_cast<size_t>(settings_.frames(static_cast<int64_t>(samples.size())));
    if (frames == 0)
      return media::of_output(output_, {Trouble::kContent, "the sound's " + std::to_string(samples.size()) +
                                                               " samples are too few for a frame"});
    const Status fits = run.workspace.of<AudioThread>().check_size(settings_.mels, frames);
    if (!fits) return media::of_output(output_, fits.error());
    transform(samples, frames, thread);
    scale(thread.values);
    const media::TensorOut& out = run.tensors.front();
    uint64_t taken = frames;
    if (varies_) {
      const Result<uint64_t> allowed = out.take(frames);
      if (!allowed) return media::of_output(output_, allowed.error());
      taken = *allowed;
    }
    write(thread.values, taken, out.memory);
    return Done{};
  }

  std::vector<std::string> code() const override { return {"kissfft double"}; }

  void transform(std::span<const float> samples, size_t frames, MelThread& thread) const {
    const auto fft = static_cast<size_t>(settings_.fft), mels = static_cast<size_t>(settings_.mels);
    Spectrum& spectrum = thread.spectrum_of(fft);
    thread.frame.assign(fft, 0);
    thread.power.resize(spectrum.bins());
    thread.mels.resize(mels);
    thread.values.resize(frames * mels);
    for (size_t i = 0; i < frames; ++i) {
      take_frame(samples, i, thread.frame);
      spectrum.power(thread.frame, thread.power);
      bank_.apply(thread.power, thread.mels);
      for (size_t mel = 0; mel < mels; ++mel) thread.values[i * mels + mel] = value_of(thread.mels[mel]);
    }
  }

  // A window that is shorter than the transform stands in its middle; Kaldi's stands at its start.
  void take_frame(std::span<const float> samples, size_t number, std::span<double> frame) const {
    const auto fft = static_cast<int64_t>(frame.size()), width = static_cast<int64_t>(window_.size());
    const int64_t before = settings_.is_kaldi ? 0 : (fft - width) / 2;
    const int64_t padding = settings_.padding == MelPadding::kNone ? 0 : fft / 2;
    const int64_t begin = static_cast<int64_t>(number) * settings_.hop - padding + before;
    const std::span<double> taken = frame.subspan(static_cast<size_t>(before), window_.size());
    const auto count = static_cast<int64_t>(samples.size());
    for (int64_t i = 0; i < width; ++i) taken[static_cast<size_t>(i)] = sample_at(samples, count, begin + i);
    if (settings_.is_kaldi) emphasise(taken);
    for (size_t i = 0; i < taken.size(); ++i) taken[i] *= window_[i];
  }

  // Beyond the ends of the sound lies its mirror image, or silence.
  double sample_at(std::span<const float> samples, int64_t count, int64_t at) const {
    if (at < 0 || at >= count) {
      if (settings_.padding != MelPadding::kReflect) return 0;
      at = at < 0 ? -at : 2 * (count - 1) - at;
    }
    return static_cast<double>(samples[static_cast<size_t>(at)]) * settings_.amplitude;
  }

  void emphasise(std::span<double> frame) const {
    double mean = 0;
    for (const double sample : frame) mean += sample;
    mean /= static_cast<double>(frame.size());
    for (double& sample : frame) sample -= mean;
    for (size_t i = frame.size() - 1; i > 0; --i) frame[i] -= settings_.preemphasis * frame[i - 1];
    frame[0] -= settings_.preemphasis * frame[0];
  }

  float value_of(double power) const {
    switch (settings_.values) {
      case MelValues::kPower:
        return static_cast<float>(power);
      case MelValues::kDb:
        return static_cast<float>(10 * std::log10(std::max(power, settings_.floor)));
      case MelValues::kLog:
        return static_cast<float>(std::log(std::max(power, settings_.floor)));
      case MelValues::kLog10:
      case MelValues::kWhisper:
        return static_cast<float>(std::log10(std::max(power, settings_.floor)));
    }
    return 0;
  }

  // Applies the bounds that are relative to the sound's greatest value.
  void scale(std::span<float> values) const {
    const bool is_whisper = settings_.values == MelValues::kWhisper;
    if (!is_whisper && (settings_.values != MelValues::kDb || settings_.top_db == 0)) return;
    const float least =
        *std::max_element(values.begin(), values.end()) - (is_whisper ? 8.0f : static_cast<float>(settings_.top_db));
    for (float& value : values) {
      value = std::max(value, least);
      if (is_whisper) value = (value + 4) / 4;
    }
  }

  void write(std::span<const float> values, size_t frames, uint8_t* to) const {
    const auto mels = static_cast<size_t>(settings_.mels);
    if (settings_.is_time_first) return write_elements(dtype_, values.first(frames * mels), to, 1);
    for (size_t i = 0; i < frames; ++i)
      write_elements(dtype_, values.subspan(i * mels, mels), to + i * config::dtype_bytes(dtype_), frames);
  }

  std::string output_;
  MelSettings settings_;
  MelBank bank_;
  std::vector<double> window_;
  config::DType dtype_;
  bool varies_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void mel_spectrogram(const Part& part, Nodes& nodes) { nodes.push_back(std::make_unique<audio::MelSpectrogram>(part)); }

}  // namespace spdld::media::ops
