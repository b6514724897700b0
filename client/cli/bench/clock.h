// The clock that `spdlctl bench` measures by.
#pragma once

#include <chrono>

namespace spdld::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point moment) {
  return std::chrono::duration<double>(Clock::now() - moment).count();
}

}  // namespace spdld::cli
