// The triangular filters that make bands of the mel scale of a power spectrum. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "config/operations/audio/mel_settings.h"
#include "daemon/media/signal/lanes.h"

namespace spdld::audio {

class MelBank {
 public:
  explicit MelBank(const config::MelSettings& settings);

  // Rows of doubles, as daemon/media/signal/fourier.h has them: `power` of settings.frames.bins(), and `mels` of as
  // many as there are filters.
  void apply(std::span<const double> power, std::span<double> mels) const;

 private:
  std::vector<WeighedSum> filters_;
  std::vector<double> weights_;
};

}  // namespace spdld::audio
