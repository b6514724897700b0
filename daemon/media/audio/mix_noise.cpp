#include <algorithm>
#include <cmath>

#include "daemon/media/audio/recordings.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class MixNoise final : public media::Node {
 public:
  explicit MixNoise(const media::PlacedOperation& placed)
      : noises_(placed, placed.spec.text("noises"), Recordings::Channel::kMean,
                static_cast<uint64_t>(placed.spec.integer("memory_max"))),
        least_db_(placed.spec.numbers("snr_db")[0]),
        greatest_db_(placed.spec.numbers("snr_db")[1]),
        least_(static_cast<uint64_t>(placed.spec.numbers("count")[0])),
        greatest_(static_cast<uint64_t>(placed.spec.numbers("count")[1])),
        probability_(placed.spec.number("p")),
        draw_(draw_of(placed.spec)) {}

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    Sound& sound = *value.sound;
    Draw draw = call.draws.named(draw_);
    if (draw.uniform(0, 1) >= probability_ || sound.count() == 0) return Done{};
    Sound& drawn = call.workspace.of<AudioThread>().spare();
    drawn.resize(1, sound.count());
    const std::span<float> noise = drawn.plane(0);
    std::fill(noise.begin(), noise.end(), 0.0f);
    const uint64_t count = least_ + draw.below(greatest_ - least_ + 1);
    for (uint64_t i = 0; i < count; ++i) add(noises_.at(draw.below(noises_.count())), draw, noise);
    const double snr_db = draw.uniform(least_db_, greatest_db_);
    mix(noise, std::pow(10.0, snr_db / 10), sound);
    return Done{};
  }

  static void add(std::span<const float> recording, Draw& draw, std::span<float> noise) {
    const bool is_longer = recording.size() > noise.size();
    size_t at = draw.below(is_longer ? recording.size() - noise.size() + 1 : recording.size());
    for (size_t done = 0; done < noise.size(); at = 0) {
      const size_t part = std::min(recording.size() - at, noise.size() - done);
      for (size_t i = 0; i < part; ++i) noise[done + i] += recording[at + i];
      done += part;
    }
  }

  // `ratio`: of the power of the sound, as the mean of its channels, to the noise's. Silence stays silent, since any
  // noise would be too loud for it, and silent noise adds nothing.
  static void mix(std::span<const float> noise, double ratio, Sound& sound) {
    double energy = 0;
    for (int channel = 0; channel < sound.channels(); ++channel) energy += energy_of(sound.plane(channel));
    energy /= sound.channels();
    const double of_noise = energy_of(noise);
    if (of_noise == 0) return;
    const auto factor = static_cast<float>(std::sqrt(energy / (of_noise * ratio)));
    for (int channel = 0; channel < sound.channels(); ++channel) {
      const std::span<float> plane = sound.plane(channel);
      for (size_t i = 0; i < plane.size(); ++i) plane[i] += factor * noise[i];
    }
  }

  std::vector<std::string> code() const override { return {ffmpeg::decoder_version()}; }

  Recordings noises_;
  double least_db_, greatest_db_;
  uint64_t least_, greatest_;  // recordings that are added up
  double probability_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void mix_noise(const PlacedOperation& placed, Nodes& nodes) {
  ffmpeg::load_libraries();
  nodes.push_back(std::make_unique<audio::MixNoise>(placed));
}

}  // namespace spdld::media::ops
