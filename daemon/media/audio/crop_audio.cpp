#include "daemon/media/audio/segment.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class CropAudio final : public media::Node {
 public:
  explicit CropAudio(const media::PlacedOperation& placed) : output_(placed.output), segment_(placed) {}

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    auto& thread = call.workspace.of<AudioThread>();
    const auto place = segment_.place(value.sound->count(), call.draws);
    if (!place) return media::of_output(output_, place.error());
    value.sound->keep(place->first, place->count);
    const Status filled = segment_.fill(thread);
    if (!filled) return media::of_output(output_, filled.error());
    value.sound = &thread.sound();
    return Done{};
  }

  std::string output_;
  Segment segment_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void crop_audio(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::CropAudio>(placed));
}

}  // namespace spdld::media::ops
