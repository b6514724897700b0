#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class RandomGain final : public media::Node {
 public:
  explicit RandomGain(const media::PlacedOperation& placed)
      : least_db_(placed.spec.numbers("db")[0]),
        greatest_db_(placed.spec.numbers("db")[1]),
        probability_(placed.spec.number("p")),
        draw_(draw_of(placed.spec)) {}

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    Draw draw = call.draws.named(draw_);
    if (draw.uniform(0, 1) >= probability_) return Done{};
    const float factor = factor_of(draw.uniform(least_db_, greatest_db_));
    for (int channel = 0; channel < value.sound->channels(); ++channel)
      for (float& sample : value.sound->plane(channel)) sample *= factor;
    return Done{};
  }

  double least_db_, greatest_db_, probability_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void random_gain(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::RandomGain>(placed));
}

}  // namespace spdld::media::ops
