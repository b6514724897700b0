#include <cmath>
#include <string>
#include <vector>

#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class RandomSpeed final : public media::Node {
 public:
  explicit RandomSpeed(const media::PlacedOperation& placed) : output_(placed.output), draw_(draw_of(placed.spec)) {
    for (const double factor : placed.spec.numbers("factors"))
      thousandths_.push_back(static_cast<uint64_t>(std::llround(factor * 1000)));
  }

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    Draw draw = call.draws.named(draw_);
    auto& thread = call.workspace.of<AudioThread>();
    const Status status = resample_all(thousandths_[draw.below(thousandths_.size())], 1000, thread);
    if (!status) return media::of_output(output_, status.error());
    value.sound = &thread.sound();
    return Done{};
  }

  std::string output_;
  uint64_t draw_;  // key
  std::vector<uint64_t> thousandths_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void random_speed(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::RandomSpeed>(placed));
}

}  // namespace spdld::media::ops
