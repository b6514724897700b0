#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "config/operations/audio/cepstrum_settings.h"
#include "daemon/media/audio/frame_node.h"
#include "daemon/media/audio/levels.h"
#include "daemon/media/audio/mel_bank.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

// [coefficients][bands]: the orthonormal DCT-II, with the lifter's factors.
std::vector<double> cosines(const config::CepstrumSettings& settings) {
  const auto bands = static_cast<size_t>(settings.mel.mels);
  std::vector<double> all;
  for (int i = 0; i < settings.coefficients; ++i) {
    double scale = std::sqrt((i == 0 ? 1.0 : 2.0) / static_cast<double>(bands));
    if (settings.lifter > 0)
      scale *= 1 + settings.lifter / 2 * std::sin(std::numbers::pi * (i + settings.lifter_first) / settings.lifter);
    for (size_t band = 0; band < bands; ++band)
      all.push_back(scale *
                    std::cos(std::numbers::pi * i * (static_cast<double>(band) + 0.5) / static_cast<double>(bands)));
  }
  return all;
}

class Mfcc final : public FrameNode {
 public:
  explicit Mfcc(const media::PlacedOperation& placed)
      : Mfcc(placed, config::cepstrum_settings(placed.spec, placed.takes)) {}

 private:
  Mfcc(const media::PlacedOperation& placed, const config::CepstrumSettings& settings)
      : FrameNode(placed, settings.mel.frames,
                  {static_cast<size_t>(settings.mel.mels), static_cast<size_t>(settings.coefficients),
                   settings.mel.is_time_first}),
        bank_(settings.mel),
        levels_(settings.mel.levels),
        cosines_(cosines(settings)),
        bands_(static_cast<size_t>(settings.mel.mels)),
        coefficients_(static_cast<size_t>(settings.coefficients)),
        has_energy_(settings.has_energy) {}

  void analyse(FrameThread& thread, Group group) const override {
    thread.bands.resize(group.size());
    bank_.apply(thread.powers(), thread.bands);
    levels_.write(thread.bands, group);
  }

  // A group's coefficients take no more places than its bands, so that they may be written before groups to come.
  void complete(std::span<float> values, FrameThread& thread) const override {
    levels_.bound(values);
    const size_t taken = bands_ * kFrameLanes, given = coefficients_ * kFrameLanes;
    for (size_t group = 0; group < thread.energies.size(); ++group) {
      const std::span<const float> levels = values.subspan(group * taken, taken);
      std::copy(levels.begin(), levels.end(), thread.bands.begin());
      const std::span<float> to = values.subspan(group * given, given);
      transform(thread.bands, to);
      if (has_energy_) write_energies(thread.energies[group], to);
    }
  }

  static void write_energies(const std::array<double, kFrameLanes>& energies, std::span<float> to) {
    for (size_t lane = 0; lane < kFrameLanes; ++lane)
      to[lane] = static_cast<float>(std::log(std::max(energies[lane], config::kKaldiFloor)));
  }

  void transform(std::span<const double> bands, std::span<float> to) const {
    for (size_t i = 0; i < coefficients_; ++i) {
      const double* const cosine = &cosines_[i * bands_];
      double sums[kFrameLanes] = {};
      for (size_t band = 0; band < bands_; ++band)
        for (size_t lane = 0; lane < kFrameLanes; ++lane) sums[lane] += cosine[band] * bands[band * kFrameLanes + lane];
      for (size_t lane = 0; lane < kFrameLanes; ++lane) to[i * kFrameLanes + lane] = static_cast<float>(sums[lane]);
    }
  }

  MelBank bank_;
  Levels levels_;
  std::vector<double> cosines_;
  size_t bands_, coefficients_;
  bool has_energy_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void mfcc(const PlacedOperation& placed, Nodes& nodes) { nodes.push_back(std::make_unique<audio::Mfcc>(placed)); }

}  // namespace spdld::media::ops
