// The values that are written of the power in a bin or a band of a spectrum. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace spdld::config {

enum class PowerValues : uint8_t {
  kPower,
  kMagnitude,  // its square root
  kDb,         // 10 log10, and nothing below the greatest one minus top_db
  kLog,        // natural
  kLog10,
  kWhisper  // log10, nothing below the greatest one minus 8, plus 4, divided by 4
};

// Kaldi's least power before a logarithm: the float's epsilon.
inline constexpr double kKaldiFloor = 0x1p-23;

struct PowerLevels {
  PowerValues values = PowerValues::kPower;
  double floor = 1e-10;  // of the power, before a logarithm
  double offset = 0;     // is added to the power before a logarithm
  double top_db = 0;     // of kDb; 0: there is no lower bound
};

// The values of this name: "db"; `as_preset` for any other text.
inline PowerValues power_values(const std::string& name, PowerValues as_preset) {
  if (name == "power") return PowerValues::kPower;
  if (name == "magnitude") return PowerValues::kMagnitude;
  if (name == "db") return PowerValues::kDb;
  if (name == "log") return PowerValues::kLog;
  if (name == "log10") return PowerValues::kLog10;
  if (name == "whisper") return PowerValues::kWhisper;
  return as_preset;
}

}  // namespace spdld::config
