#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class Gain final : public media::Node {
 public:
  explicit Gain(const media::Part& part) : factor_(factor_of(part.spec.number("db"))) {}

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

void gain(const Part& part, Nodes& nodes) { nodes.push_back(std::make_unique<audio::Gain>(part)); }

}  // namespace spdld::media::ops
