#include <algorithm>
#include <cmath>

#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class NormalizeAudio final : public media::Node {
 public:
  explicit NormalizeAudio(const media::PlacedOperation& placed)
      : level_(std::pow(10.0, placed.spec.number("db") / 20)), is_peak_(placed.spec.text("by") == "peak") {}

 private:
  Status run(media::Value& value, const media::Call&) const override {
    Sound& sound = *value.sound;
    double greatest = 0, squares = 0;
    for (int channel = 0; channel < sound.channels(); ++channel) {
      for (const float sample : sound.plane(channel)) {
        greatest = std::max(greatest, std::abs(static_cast<double>(sample)));
        squares += static_cast<double>(sample) * static_cast<double>(sample);
      }
    }
    const double samples = static_cast<double>(sound.count()) * sound.channels();
    const double has = is_peak_ || samples == 0 ? greatest : std::sqrt(squares / samples);
    if (!(has > 0) || !std::isfinite(has)) return Done{};
    const auto factor = static_cast<float>(level_ / has);
    if (!std::isfinite(factor)) return Done{};
    for (int channel = 0; channel < sound.channels(); ++channel)
      for (float& sample : sound.plane(channel)) sample *= factor;
    return Done{};
  }

  double level_;
  bool is_peak_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void normalize_audio(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::NormalizeAudio>(placed));
}

}  // namespace spdld::media::ops
