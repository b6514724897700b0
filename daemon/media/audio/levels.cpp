#include "daemon/media/audio/levels.h"

#include <algorithm>
#include <cmath>

namespace spdld::audio {

using config::PowerValues;

double Levels::floored(double power) const { return std::max(power + settings_.offset, settings_.floor); }

float Levels::of(double power) const {
  switch (settings_.values) {
    case PowerValues::kPower:
      return static_cast<float>(power);
    case PowerValues::kMagnitude:
      return static_cast<float>(std::sqrt(power));
    case PowerValues::kDb:
      return static_cast<float>(10 * std::log10(floored(power)));
    case PowerValues::kLog:
      return static_cast<float>(std::log(floored(power)));
    case PowerValues::kLog10:
    case PowerValues::kWhisper:
      return static_cast<float>(std::log10(floored(power)));
  }
  return 0;
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
