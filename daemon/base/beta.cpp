#include "daemon/base/beta.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spdld {
namespace {

double open_uniform(Draw& draw) { return 1.0 - draw.uniform(0, 1); }  // (0, 1]: it has a logarithm

// The logarithm of a number of the distribution Gamma(alpha, 1).
double log_gamma_number(Draw& draw, double alpha) {
  const double raised = alpha < 1 ? alpha + 1 : alpha;
  const double d = raised - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  double found = std::log(d);
  for (int i = 0; i < kGammaTriesMax; i++) {
    const double x = draw_normal(draw);
    const double t = 1.0 + c * x;
    const double u = open_uniform(draw);
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(u) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    found = std::log(d * v);
    break;
  }
  return alpha < 1 ? found + std::log(open_uniform(draw)) / alpha : found;
}

}  // namespace

double draw_normal(Draw& draw) {
  const double radius = std::sqrt(-2.0 * std::log(open_uniform(draw)));
  return radius * std::cos(2.0 * std::numbers::pi * draw.uniform(0, 1));
}

double draw_beta(Draw& draw, double alpha) {
  const double x = log_gamma_number(draw, alpha), y = log_gamma_number(draw, alpha);
  return 1.0 / (1.0 + std::exp(y - x));
}

void draw_parts(Draw& draw, double alpha, std::span<double> parts) {
  for (double& part : parts) part = log_gamma_number(draw, alpha);
  const double most = *std::max_element(parts.begin(), parts.end());
  double sum = 0;
  for (double& part : parts) sum += part = std::exp(part - most);
  for (double& part : parts) part /= sum;
}

}  // namespace spdld
