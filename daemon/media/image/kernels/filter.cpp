#include "daemon/media/image/kernels/filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "daemon/media/image/kernels/weights.h"

namespace spdld::image {
namespace {

// Keys' cubic convolution.
double cubic_height(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi); }

// A filter's height at a distance from its middle, and how far it reaches to each side.
double height_of(Filter filter, double x) {
  switch (filter) {
    case Filter::kBicubic:
      return cubic_height(x, -0.5);
    case Filter::kLanczos:
      return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Filter::kTriangle:
      return std::max(0.0, 1 - std::fabs(x));
    default:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
  }
}

double reach_of(Filter filter) {
  if (filter == Filter::kTriangle) return 1;
  if (filter == Filter::kBicubic) return 2;
  return filter == Filter::kLanczos ? 3 : 0.5;
}

// Where the filter of one wanted pixel lies.
struct Placed {
  double widened, centre;
  int first, end;  // source pixels

  Placed(const AxisRequest& request, int i) {
    const double scale = static_cast<double>(request.in) / request.out;
    widened = std::max(scale, 1.0);
    const double reach = reach_of(request.filter) * widened;
    centre = (i + 0.5) * scale;
    first = std::max(0, static_cast<int>(centre - reach + 0.5));
    end = std::min(request.in, static_cast<int>(centre + reach + 0.5));
  }
};

// The place of a bicubic's second pixel, and how far behind it the wanted pixel's centre lies.
struct CubicPlace {
  int second;
  double behind;

  CubicPlace(const AxisRequest& request, int i) {
    const double centre = (i + 0.5) * request.in / request.out - 0.5;
    second = static_cast<int>(std::floor(centre));
    behind = centre - second;
  }
};

// Calls take(n, pixel) for each wanted pixel n of the request, in order. The place is counted on, as Pillow counts it:
// a product would be rounded otherwise.
template <typename Take>
void each_nearest(const AxisRequest& request, Take take) {
  const double scale = static_cast<double>(request.in) / request.out;
  double place = scale * 0.5;
  for (int i = 0; i < request.first + request.count; ++i, place += scale)
    if (i >= request.first) take(i - request.first, std::min(static_cast<int>(place), request.in - 1));
}

}  // namespace

Filter filter_named(std::string_view name) {
  if (name == "bilinear") return Filter::kBilinear;
  if (name == "nearest") return Filter::kNearest;
  if (name == "bicubic") return Filter::kBicubic;
  if (name == "lanczos") return Filter::kLanczos;
  if (name == "box") return Filter::kBox;
  throw std::logic_error("no filter is called " + std::string(name));
}

void PixelWeights::make(const AxisRequest& request, int i) {
  weights_.clear();
  if (request.in == request.out) {
    first_ = i;
    weights_.push_back(1);
  } else if (request.antialias) {
    make_antialiased(request, i);
  } else {
    make_cubic(request, i);
  }
}

void PixelWeights::make_antialiased(const AxisRequest& request, int i) {
  const Placed placed(request, i);
  const double narrowed = 1 / placed.widened;
  first_ = placed.first;
  double sum = 0;
  for (int x = 0; x < placed.end - placed.first; ++x) {
    weights_.push_back(height_of(request.filter, (x + placed.first - placed.centre + 0.5) * narrowed));
    sum += weights_.back();
  }
  if (sum == 0) return;
  for (double& weight : weights_) weight /= sum;
}

void PixelWeights::make_cubic(const AxisRequest& request, int i) {
  const CubicPlace place(request, i);
  first_ = std::max(place.second - 1, 0);
  const int last = std::min(place.second + 2, request.in - 1);
  weights_.assign(static_cast<size_t>(last - first_ + 1), 0);
  for (int k = -1; k <= 2; ++k) {
    const int pixel = std::clamp(place.second + k, first_, last);
    weights_[static_cast<size_t>(pixel - first_)] += cubic_height(place.behind - k, -0.75);
  }
}

void nearest_pixels(const AxisRequest& request, std::vector<int>& pixels) {
  pixels.resize(static_cast<size_t>(request.count));
  each_nearest(request, [&](int n, int pixel) {
    pixels[static_cast<size_t>(request.mirrored ? request.count - 1 - n : n)] = pixel;
  });
}

SourceRange filter_range(const AxisRequest& request) {
  const int last = request.first + request.count - 1;
  if (request.filter == Filter::kNearest) {
    SourceRange range;
    each_nearest(request, [&](int n, int pixel) { range = {n == 0 ? pixel : range.first, pixel + 1}; });
    return range;
  }
  if (!request.antialias)
    return {std::max(CubicPlace(request, request.first).second - 1, 0),
            std::min(CubicPlace(request, last).second + 2, request.in - 1) + 1};
  return {Placed(request, request.first).first, Placed(request, last).end};
}

}  // namespace spdld::image
