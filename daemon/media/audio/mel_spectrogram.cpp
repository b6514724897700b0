#include "config/operations/audio/mel_settings.h"
#include "daemon/media/audio/frame_node.h"
#include "daemon/media/audio/levels.h"
#include "daemon/media/audio/mel_bank.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class MelSpectrogram final : public FrameNode {
 public:
  explicit MelSpectrogram(const media::PlacedOperation& placed)
      : MelSpectrogram(placed, config::mel_settings(placed.spec, placed.takes)) {}

 private:
  MelSpectrogram(const media::PlacedOperation& placed, const config::MelSettings& settings)
      : FrameNode(placed, settings.frames,
                  {static_cast<size_t>(settings.mels), static_cast<size_t>(settings.mels), settings.is_time_first}),
        bank_(settings),
        levels_(settings.levels) {}

  void analyse(FrameThread& thread, Group group) const override {
    thread.bands.resize(group.size());
    bank_.apply(thread.powers(), thread.bands);
    levels_.write(thread.bands, group);
  }

  void complete(std::span<float> values, FrameThread&) const override { levels_.bound(values); }

  MelBank bank_;
  Levels levels_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void mel_spectrogram(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::MelSpectrogram>(placed));
}

}  // namespace spdld::media::ops
