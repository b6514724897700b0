// Whether an order is one, and a good one.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace spdld::test {

inline bool is_bijection(const std::vector<uint64_t>& samples) {
  std::vector<bool> seen(samples.size());
  for (const uint64_t sample : samples) {
    if (sample >= samples.size() || seen[sample]) return false;
    seen[sample] = true;
  }
  return true;
}

inline double chi_square(const std::vector<int>& bins, double expected) {
  double sum = 0;
  for (const int n : bins) sum += (n - expected) * (n - expected) / expected;
  return sum;
}

// The upper 0.01 % of chi-square with many degrees of freedom (Wilson and Hilferty).
inline double chi_square_limit(double freedom) {
  const double a = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1 - a + 3.72 * std::sqrt(a), 3);
}

}  // namespace spdld::test
