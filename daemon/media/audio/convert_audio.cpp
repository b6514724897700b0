#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/audio/elements.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class ConvertAudio final : public media::Node {
 public:
  explicit ConvertAudio(const media::PlacedOperation& placed)
      : output_(placed.output),
        dtype_(placed.gives.dtype()),
        is_channels_first_(placed.spec.text("layout") == "channels-first"),
        varies_(!placed.takes.dimensions[0].is_fixed()) {}

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    const media::TensorOut& out = call.tensors.front();
    Sound& sound = *value.sound;
    if (varies_) {
      const Result<uint64_t> taken = out.take(sound.count());
      if (!taken) return media::of_output(output_, taken.error());
      sound.keep(0, *taken);
    }
    const auto channels = static_cast<size_t>(sound.channels());
    const size_t bytes = config::dtype_bytes(dtype_);
    const size_t apart = is_channels_first_ ? sound.count() : 1, step = is_channels_first_ ? 1 : channels;
    for (size_t channel = 0; channel < channels; ++channel)
      write_elements(dtype_, sound.plane(static_cast<int>(channel)), out.at() + channel * apart * bytes, step);
    return Done{};
  }

  std::string output_;
  config::DType dtype_;
  bool is_channels_first_, varies_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void convert_audio(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::ConvertAudio>(placed));
}

}  // namespace spdld::media::ops
