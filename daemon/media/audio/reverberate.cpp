#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/media/audio/convolution.h"
#include "daemon/media/audio/recordings.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

// The convolution that a decode thread keeps.
struct KeptConvolution {
  explicit KeptConvolution(const media::DecodeLimits& limits) : memory(limits.memory) {}
  void shrink(size_t bytes_max) { convolution.shrink(bytes_max); }
  Convolution convolution;
  media::MemoryPart memory;
};

class Reverberate final : public media::Node {
 public:
  explicit Reverberate(const media::PlacedOperation& placed)
      : responses_(placed, placed.spec.text("responses"), Recordings::Channel::kFirst,
                   static_cast<uint64_t>(placed.spec.integer("memory_max"))),
        keeps_power_(placed.spec.flag("keep_power")),
        probability_(placed.spec.number("p")),
        draw_(draw_of(placed.spec)) {
    for (size_t i = 0; i < responses_.count(); ++i) peaks_.push_back(peak_of(i));
  }

 private:
  // Where the greatest value of a response stands.
  size_t peak_of(size_t number) const {
    const std::span<const float> response = responses_.at(number);
    if (response.size() > kResponseMax)
      throw SetupError(Trouble::kUsage, responses_.path(number) + " is no impulse response: it has " +
                                            std::to_string(response.size()) + " samples, more than " +
                                            std::to_string(kResponseMax) + ".");
    const auto is_less = [](float a, float b) { return std::abs(a) < std::abs(b); };
    const auto peak = std::max_element(response.begin(), response.end(), is_less);
    if (*peak == 0)
      throw SetupError(Trouble::kUsage, responses_.path(number) + " is no impulse response: it is silent.");
    return static_cast<size_t>(peak - response.begin());
  }

  Status run(media::Value& value, const media::Call& call) const override {
    Sound& sound = *value.sound;
    Draw draw = call.draws.named(draw_);
    if (draw.uniform(0, 1) >= probability_ || sound.count() == 0) return Done{};
    const size_t number = draw.below(responses_.count());
    auto& thread = call.workspace.of<AudioThread>();
    auto& [convolution, memory] = call.workspace.of<KeptConvolution>();
    const uint64_t bytes = Convolution::bytes_of(sound.count(), responses_.at(number).size(), peaks_[number]);
    if (!memory.grow_to(bytes)) return media::no_room();
    if (const Status fits = thread.check_size(sound.channels(), sound.count()); !fits) return fits;
    Sound& made = thread.spare();
    made.resize(sound.channels(), sound.count());
    made.rate_hz = sound.rate_hz;
    double before = 0, after = 0;
    for (int channel = 0; channel < sound.channels(); ++channel) {
      convolution.run(sound.plane(channel), responses_.at(number), peaks_[number], made.plane(channel),
                      &call.workspace.guard());
      before += energy_of(sound.plane(channel));
      after += energy_of(made.plane(channel));
    }
    if (keeps_power_ && after > 0) scale(static_cast<float>(std::sqrt(before / after)), made);
    thread.exchange();
    value.sound = &thread.sound();
    return Done{};
  }

  static void scale(float factor, Sound& sound) {
    for (int channel = 0; channel < sound.channels(); ++channel)
      for (float& sample : sound.plane(channel)) sample *= factor;
  }

  std::vector<std::string> code() const override { return {ffmpeg::decoder_version()}; }

  Recordings responses_;
  std::vector<size_t> peaks_;
  bool keeps_power_;
  double probability_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void reverberate(const PlacedOperation& placed, Nodes& nodes) {
  ffmpeg::load_libraries();
  nodes.push_back(std::make_unique<audio::Reverberate>(placed));
}

}  // namespace spdld::media::ops
