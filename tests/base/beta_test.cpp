#include "daemon/base/beta.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

namespace spdld::beta_test {

TEST_CASE("numbers of the Beta distribution have its mean, its variance and its symmetry") {
  for (const double alpha : {0.01, 0.2, 0.5, 1.0, 2.5, 100.0}) {
    constexpr int kNumbers = 40'000;
    double sum = 0, squares = 0;
    int below_tenth = 0, above_tenth = 0;
    for (int i = 0; i < kNumbers; i++) {
      Draw draw(7, 0, static_cast<uint64_t>(i), draw_key("test"));
      const double x = draw_beta(draw, alpha);
      REQUIRE(x >= 0);
      REQUIRE(x <= 1);
      sum += x, squares += x * x;
      below_tenth += x<0.1, above_tenth += x> 0.9;
    }
    INFO("alpha " << alpha);
    const double mean = sum / kNumbers, variance = squares / kNumbers - mean * mean;
    const double wanted = 1 / (4 * (2 * alpha + 1));
    CHECK(std::abs(mean - 0.5) < 5 * std::sqrt(wanted / kNumbers));
    CHECK(std::abs(variance - wanted) < 0.03 * wanted);
    CHECK(std::abs(below_tenth - above_tenth) < 5 * std::sqrt(static_cast<double>(kNumbers)));
  }
}

TEST_CASE("alpha 1 gives uniform numbers") {
  std::vector<double> numbers;
  for (uint64_t i = 0; i < 10'000; i++) {
    Draw draw(3, 1, i, draw_key("test"));
    numbers.push_back(draw_beta(draw, 1));
  }
  std::sort(numbers.begin(), numbers.end());
  double farthest = 0;
  for (size_t i = 0; i < numbers.size(); i++)
    farthest = std::max(farthest, std::abs(numbers[i] - static_cast<double>(i) / 10'000));
  CHECK(farthest < 0.02);  // Kolmogorov's bound at 1 in 2000
}

TEST_CASE("parts of the Dirichlet distribution have its means and variances, and are a whole") {
  for (const double alpha : {0.01, 0.5, 1.0, 3.0}) {
    constexpr int kNumbers = 30'000;
    std::array<double, 3> parts, sums{}, squares{};
    for (uint64_t i = 0; i < kNumbers; i++) {
      Draw draw(5, 2, i, draw_key("test"));
      draw_parts(draw, alpha, parts);
      REQUIRE(std::abs(parts[0] + parts[1] + parts[2] - 1) < 1e-12);
      for (size_t k = 0; k < parts.size(); k++) sums[k] += parts[k], squares[k] += parts[k] * parts[k];
    }
    INFO("alpha " << alpha);
    const double wanted = (1.0 / 3) * (2.0 / 3) / (3 * alpha + 1);  // the variance of one of three equal parts
    for (size_t k = 0; k < parts.size(); k++) {
      const double mean = sums[k] / kNumbers, variance = squares[k] / kNumbers - mean * mean;
      CHECK(std::abs(mean - 1.0 / 3) < 5 * std::sqrt(wanted / kNumbers));
      CHECK(std::abs(variance - wanted) < 0.05 * wanted);
    }
  }
}

}  // namespace spdld::beta_test
