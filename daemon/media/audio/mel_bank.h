// The triangular filters that make bands of the mel scale of a power spectrum. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "config/mel_settings.h"

namespace spdld::audio {

class MelBank {
 public:
  explicit MelBank(const config::MelSettings& settings);

  // `power`: of settings.frames.bins(); `mels`: one value for each filter.
  void apply(std::span<const double> power, std::span<double> mels) const;

 private:
  struct Filter {
    size_t first = 0;  // bin
    std::vector<double> weights;
  };
  std::vector<Filter> filters_;
};

}  // namespace spdld::audio
