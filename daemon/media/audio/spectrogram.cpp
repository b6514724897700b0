#include "config/operations/audio/spectrogram_settings.h"

#include <algorithm>
#include <cmath>

#include "daemon/media/audio/frame_node.h"
#include "daemon/media/audio/levels.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class Spectrogram final : public FrameNode {
 public:
  explicit Spectrogram(const media::PlacedOperation& placed)
      : Spectrogram(placed, config::spectrogram_settings(placed.spec, placed.takes)) {}

 private:
  Spectrogram(const media::PlacedOperation& placed, const config::SpectrogramSettings& settings)
      : FrameNode(
            placed, settings.frames,
            {static_cast<size_t>(settings.values()), static_cast<size_t>(settings.values()), settings.is_time_first}),
        levels_(settings.levels),
        is_complex_(settings.is_complex),
        has_energy_(settings.has_energy) {}

  void analyse(FrameThread& thread, Group group) const override {
    if (is_complex_) return write_parts(thread.bins(), group);
    const std::span<double> powers = thread.powers();
    if (has_energy_) std::copy(thread.energies.back().begin(), thread.energies.back().end(), powers.begin());
    levels_.write(powers.first(group.size()), group);
  }

  // All real parts come before the imaginary ones.
  static void write_parts(std::span<const double> bins, Group group) {
    const size_t count = group.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      const size_t row = i / kFrameLanes, lane = i % kFrameLanes;
      group[i] = static_cast<float>(bins[2 * row * kFrameLanes + lane]);
      group[count + i] = static_cast<float>(bins[(2 * row + 1) * kFrameLanes + lane]);
    }
  }

  void complete(std::span<float> values, FrameThread&) const override {
    if (!is_complex_) levels_.bound(values);
  }

  Levels levels_;
  bool is_complex_, has_energy_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void spectrogram(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::Spectrogram>(placed));
}

}  // namespace spdld::media::ops
