// trim-silence: a frame lies around each multiple of `hop`, with zeros beyond the sound, and is silent where the root
// mean square of every channel is too far below the loudest frame.
#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class TrimSilence final : public media::Node {
 public:
  explicit TrimSilence(const media::PlacedOperation& placed)
      : part_of_power_(std::pow(10.0, -placed.spec.number("db") / 10)),
        frame_(static_cast<size_t>(placed.spec.integer("frame"))),
        hop_(static_cast<size_t>(placed.spec.integer("hop"))) {}

 private:
  Status run(media::Value& value, const media::Call&) const override {
    Sound& sound = *value.sound;
    const std::vector<double> powers = powers_of(sound);
    const double loudest = powers.empty() ? 0 : *std::max_element(powers.begin(), powers.end());
    // librosa takes no power for less than this one.
    constexpr double kLeast = 1e-10;
    const double bound = std::max(loudest, kLeast) * part_of_power_;
    const auto is_loud = [&](double power) { return std::max(power, kLeast) > bound; };
    const auto first = std::find_if(powers.begin(), powers.end(), is_loud);
    const auto last = std::find_if(powers.rbegin(), powers.rend(), is_loud);
    if (first == powers.end()) {
      sound.keep(0, 0);
      return Done{};
    }
    const size_t begin = static_cast<size_t>(first - powers.begin()) * hop_;
    const size_t end = std::min(sound.count(), static_cast<size_t>(powers.rend() - last) * hop_);
    sound.keep(std::min(begin, end), end - std::min(begin, end));
    return Done{};
  }

  // The greatest mean square of a channel, frame by frame.
  std::vector<double> powers_of(Sound& sound) const {
    const size_t count = sound.count();
    if (count == 0) return {};
    std::vector<double> powers(1 + (count + frame_ / 2 * 2 - std::min(frame_, count + frame_ / 2 * 2)) / hop_, 0.0);
    for (int channel = 0; channel < sound.channels(); ++channel) {
      const std::span<const float> samples = sound.plane(channel);
      for (size_t i = 0; i < powers.size(); ++i) {
        const size_t middle = i * hop_, before = frame_ / 2;
        const size_t begin = middle - std::min(middle, before);
        const size_t end = std::min(count, middle + frame_ - before);
        double squares = 0;
        for (size_t k = begin; k < end; ++k)
          squares += static_cast<double>(samples[k]) * static_cast<double>(samples[k]);
        powers[i] = std::max(powers[i], squares / static_cast<double>(frame_));
      }
    }
    return powers;
  }

  double part_of_power_;
  size_t frame_, hop_;  // samples
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void trim_silence(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::TrimSilence>(placed));
}

}  // namespace spdld::media::ops
