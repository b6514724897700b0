#include "config/spectrogram_settings.h"

#include <algorithm>
#include <cmath>

#include "daemon/media/audio/frame_node.h"
#include "daemon/media/audio/levels.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class Spectrogram final : public FrameNode {
 public:
  explicit Spectrogram(const media::Part& part)
      : Spectrogram(part, config::spectrogram_settings(part.spec, part.takes)) {}

 private:
  Spectrogram(const media::Part& part, const config::SpectrogramSettings& settings)
      : FrameNode(
            part, settings.frames,
            {static_cast<size_t>(settings.values()), static_cast<size_t>(settings.values()), settings.is_time_first}),
        levels_(settings.levels),
        is_complex_(settings.is_complex),
        has_energy_(settings.has_energy) {}

  void analyse(FrameThread& thread, std::span<float> values) const override {
    if (is_complex_) return write_parts(thread.bins(), values);
    const std::span<const double> power = thread.power();
    for (size_t i = 0; i < values.size(); ++i) values[i] = levels_.of(power[i]);
    if (has_energy_) values[0] = levels_.of(thread.energies.back());
  }

  static void write_parts(std::span<const std::complex<double>> bins, std::span<float> values) {
    for (size_t i = 0; i < bins.size(); ++i) {
      values[i] = static_cast<float>(bins[i].real());
      values[bins.size() + i] = static_cast<float>(bins[i].imag());
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

void spectrogram(const Part& part, Nodes& nodes) { nodes.push_back(std::make_unique<audio::Spectrogram>(part)); }

}  // namespace spdld::media::ops
