// Turns the power in bins or bands into the values that are written of it. Constant after construction; any thread.
#pragma once

#include <span>

#include "config/operations/audio/power_levels.h"

namespace spdld::audio {

class Levels {
 public:
  explicit Levels(const config::PowerLevels& settings) : settings_(settings) {}

  // `power` is written. Its count, which is that of `values`, is a multiple of kLanes<double>.
  void write(std::span<double> power, std::span<float> values) const;
  // Applies the bounds that are relative to the greatest of a sound's values.
  void bound(std::span<float> values) const;

 private:
  config::PowerLevels settings_;
};

}  // namespace spdld::audio
