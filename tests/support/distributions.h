// How far drawn numbers are from the distribution that they should have.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace spdld::test {

// The greatest distance of the numbers' distribution from the uniform one, times the root of their count (Kolmogorov
// and Smirnov): beyond kUniformMost in one of 10,000 tries.
inline constexpr double kUniformMost = 2.2;
inline double uniform_distance(std::vector<double> numbers, double least, double greatest) {
  std::sort(numbers.begin(), numbers.end());
  double distance = 0;
  const auto count = static_cast<double>(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double at = (numbers[i] - least) / (greatest - least);
    distance = std::max({distance, at - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - at});
  }
  return distance * std::sqrt(count);
}

// Pearson's sum for `draws` draws over `places` places that should be equally likely; `counts` maps a place to how
// often it was drawn.
template <typename Counts>
double chi_squared(const Counts& counts, double draws, size_t places) {
  const double wanted = draws / static_cast<double>(places);
  double sum = wanted * static_cast<double>(places - counts.size());
  for (const auto& [key, count] : counts) sum += (count - wanted) * (count - wanted) / wanted;
  return sum;
}

}  // namespace spdld::test
