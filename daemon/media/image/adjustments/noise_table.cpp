#include <algorithm>
#include <cmath>

#include "daemon/media/image/adjustments/adjustment.h"

namespace spdld::image {
namespace {

// How often a normal number lies below `at`.
double normal_below(double at, double mean, double sigma) {
  if (sigma == 0) return mean < at ? 1 : 0;
  return std::erfc((mean - at) / (sigma * std::sqrt(2.0))) / 2;
}

// The least number that is cut off to `value` or more.
double edge_of(int value) { return value > 0 ? value : std::nextafter(value - 1.0, 0.0); }

// How often a normal number becomes `value` when it is cut off towards zero, and at -most and most.
double chance_of(int value, int most, double mean, double sigma) {
  const double below = value == most ? 1 : normal_below(edge_of(value + 1), mean, sigma);
  return below - (value == -most ? 0 : normal_below(edge_of(value), mean, sigma));
}

}  // namespace

// Walker, "An efficient method for generating discrete random variables with general distributions", 1977: bins that
// are too small are filled up from bins that are too large.
NoiseTable::NoiseTable(double mean, double sigma) {
  std::array<double, kBins> left{};
  std::array<size_t, kBins> small{}, large{};
  size_t smalls = 0, larges = 0;
  for (size_t i = 0; i < kBins; ++i) {
    const double chance = chance_of(static_cast<int>(i) - kMost, kMost, mean * kMost, sigma * kMost);
    left[i] = std::max(chance, 0.0) * static_cast<double>(kBins);
    bins_[i] = {UINT32_MAX, static_cast<int>(i)};
    if (left[i] < 1) {
      small[smalls++] = i;
    } else {
      large[larges++] = i;
    }
  }
  while (smalls > 0 && larges > 0) {
    const size_t filled = small[--smalls], giver = large[larges - 1];
    bins_[filled] = {static_cast<uint32_t>(std::min(left[filled] * 0x1p32, 0x1p32 - 1)), static_cast<int>(giver)};
    left[giver] -= 1 - left[filled];
    if (left[giver] >= 1) continue;
    --larges;
    small[smalls++] = giver;
  }
}

}  // namespace spdld::image
