#include "daemon/transform/weights.h"

#include <algorithm>
#include <cmath>

namespace spdld::transform {
namespace {

// Where wanted pixels lie in the source, and how far the triangle reaches.
struct Scale {
  double step, support;

  explicit Scale(const AxisRequest& request)
      : step(static_cast<double>(request.in) / request.out), support(request.antialias ? std::max(step, 1.0) : 1.0) {}
  double centre(int i) const { return (i + 0.5) * step; }
  int first(int i) const { return std::max(0, static_cast<int>(centre(i) - support + 0.5)); }
  int end(int i, int in) const { return std::min(in, static_cast<int>(centre(i) + support + 0.5)); }
};

// Rounds `exact`, whose sum is `sum`, to weights whose sum is kOne: what rounding leaves over goes to the next weight.
void quantise(const double* exact, int count, double sum, int16_t* weights) {
  const double factor = AxisWeights::kOne / sum;
  double so_far = 0.5;
  int given = 0;
  for (int k = 0; k < count; ++k) {
    so_far += exact[k] * factor;
    const int weight = static_cast<int>(so_far) - given;
    given += weight;
    weights[k] = static_cast<int16_t>(std::min(weight, AxisWeights::kOne - 1));
  }
}

}  // namespace

SourceRange source_range(const AxisRequest& request) {
  if (request.in == request.out) return {request.first, request.first + request.count};
  const Scale scale(request);
  return {scale.first(request.first), scale.end(request.first + request.count - 1, request.in)};
}

void AxisWeights::fill(const AxisRequest& request) {
  const Scale scale(request);
  range_ = source_range(request);
  const auto taps_max = static_cast<size_t>(scale.support) * 2 + 3;
  taps_.resize(static_cast<size_t>(request.count));
  weights_.resize(taps_.size() * taps_max);
  exact_.resize(taps_max);
  for (int i = 0; i < request.count; ++i) {
    const int wanted = request.first + (request.mirrored ? request.count - 1 - i : i);
    const double centre = scale.centre(wanted) - 0.5, narrow = 1 / scale.support;
    int first = std::max(scale.first(wanted), range_.first);
    const int end = std::min(scale.end(wanted, request.in), range_.end);
    double sum = 0;
    int count = 0;
    for (int at = first; at < end; ++at) {
      const double weight = std::max(0.0, 1 - std::abs((at - centre) * narrow));
      if (weight == 0 && count == 0) ++first;  // the triangle's tip on a pixel's centre
      if (weight == 0) continue;               // ... or its other one: only the ends can be 0
      exact_[static_cast<size_t>(count++)] = weight;
      sum += weight;
    }
    const size_t offset = static_cast<size_t>(i) * taps_max;
    quantise(exact_.data(), count, sum, weights_.data() + offset);
    taps_[static_cast<size_t>(i)] = Taps{first - range_.first, count, offset};
  }
}

}  // namespace spdld::transform
