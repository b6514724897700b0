#include "daemon/media/audio/levels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "daemon/media/signal/lanes.h"

namespace spdld::audio {

using config::PowerValues;

void Levels::write(std::span<double> power, std::span<float> values) const {
  switch (settings_.values) {
    case PowerValues::kPower:
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(power[i]);
      return;
    case PowerValues::kMagnitude:
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sqrt(power[i]));
      return;
    default:
      break;
  }
  for (double& value : power) value = std::max(value + settings_.offset, settings_.floor);
  constexpr double kOfTen = 1 / std::numbers::ln10;
  const bool is_natural = settings_.values == PowerValues::kLog;
  write_logarithms(power, is_natural ? 1 : settings_.values == PowerValues::kDb ? 10 * kOfTen : kOfTen, values.data());
}

void Levels::bound(std::span<float> values) const {
  const bool is_whisper = settings_.values == PowerValues::kWhisper;
  if (!is_whisper && (settings_.values != PowerValues::kDb || settings_.top_db == 0)) return;
  const float least =
      *std::max_element(values.begin(), values.end()) - (is_whisper ? 8.0f : static_cast<float>(settings_.top_db));
  for (float& value : values) {
    value = std::max(value, least);
    if (is_whisper) value = (value + 4) / 4;
  }
}

}  // namespace spdld::audio
