#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class Gain final : public media::Node {
 public:
  explicit Gain(const media::PlacedOperation& placed) : factor_(factor_of(placed.spec.number("db"))) {}

 private:
  Status run(media::Value& value, const media::Call&) const override {
    for (int channel = 0; channel < value.sound->channels(); ++channel)
      for (float& sample : value.sound->plane(channel)) sample *= factor_;
    return Done{};
  }

  float factor_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void gain(const PlacedOperation& placed, Nodes& nodes) { nodes.push_back(std::make_unique<audio::Gain>(placed)); }

}  // namespace spdld::media::ops
