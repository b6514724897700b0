// Weights over a reduced source: where they are centred, and what they are worth.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/kernels/weights.h"
#include "tests/support/image_programs.h"

namespace spdld::image::reduced_test {
namespace {

// The weight of each sample of the source for wanted pixel i, as weights.h says it, in double.
std::vector<double> exact_weights(const AxisRequest& request, int i) {
  const double scale = static_cast<double>(request.in) / request.out, by = request.reduction;
  const double reach = request.antialias ? std::max(scale, by) : by, centre = (i + 0.5) * scale;
  std::vector<double> weights(static_cast<size_t>(request.samples()));
  double sum = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double begin = static_cast<double>(k) * by - request.phase, end = begin + by;
    const double inside = std::min<double>(end, request.in) - std::max(begin, 0.0);
    weights[k] = std::max(0.0, 1 - std::abs(begin + by / 2 - centre) / reach) * inside;
    sum += weights[k];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST_CASE("weights over a reduced source are the triangle's at the samples' places", "[transform]") {
  std::mt19937 random(6);
  AxisWeights weights;
  double farthest = 0, off_centre = 0;
  for (int round = 0; round < 1500; ++round) {
    AxisRequest request;
    request.reduction = 2 << random() % 4;  // 16: of chroma
    request.phase = static_cast<int>(random() % static_cast<unsigned>(request.reduction));
    request.out = 1 + static_cast<int>(random() % 120);
    const double scale = 0.8 + static_cast<double>(random() % 1000) / 250;  // below 1: of chroma
    request.in = static_cast<int>(request.out * request.reduction * scale) + static_cast<int>(random() % 8) + 1;
    request.first = static_cast<int>(random() % static_cast<unsigned>(request.out));
    request.count = 1 + static_cast<int>(random() % static_cast<unsigned>(request.out - request.first));
    request.mirrored = random() % 2 == 0;
    weights.fill(request);
    REQUIRE(weights.count() == request.count);
    REQUIRE((weights.range().first >= 0 && weights.range().end <= request.samples()));
    for (int n = 0; n < request.count; ++n) {
      const int i = request.first + (request.mirrored ? request.count - 1 - n : n);
      const auto exact = exact_weights(request, i);
      const int first = weights.range().first + weights.start(n);
      REQUIRE((first >= 0 && first + weights.taps() <= weights.range().end));
      int sum = 0;
      double outside = 1, place = 0;
      for (int k = 0; k < weights.taps(); ++k) {
        const double weight = exact[static_cast<size_t>(first + k)];
        sum += weights.weight(n, k);
        outside -= weight;
        farthest = std::max(farthest, std::abs(weights.weight(n, k) - weight * AxisWeights::kOne));
        place += weights.weight(n, k) * ((first + k + 0.5) * request.reduction - request.phase) / AxisWeights::kOne;
      }
      REQUIRE(std::abs(outside) < 1e-6);  // no sample is left out
      REQUIRE((sum == AxisWeights::kOne || sum == AxisWeights::kOne - 1));
      // Far from the box's ends the weights' middle is the wanted pixel's.
      const double step = static_cast<double>(request.in) / request.out;
      const double centre = (i + 0.5) * step, reach = std::max<double>(step, request.reduction) + request.reduction;
      if (step >= 1.6 * request.reduction && centre - reach > 0 && centre + reach < request.in)
        off_centre = std::max(off_centre, std::abs(place - centre) / step);
    }
  }
  CHECK(farthest < 1.5);
  CHECK(off_centre < 0.06);  // of a wanted pixel; half a sample would be 0.1 at least
}

TEST_CASE("a reduction by one is none", "[transform]") {
  AxisWeights plain, reduced;
  for (int in = 1; in < 400; in += 7) {
    for (const int out : {1, 5, 40, 224}) {
      AxisRequest request{in, out, 0, out, in % 2 == 0, in % 3 != 0};
      plain.fill(request);
      request.reduction = 1, request.phase = 0;
      reduced.fill(request);
      REQUIRE(request.samples() == in);
      REQUIRE(plain.taps() == reduced.taps());
      bool same = true;
      for (int i = 0; i < out; ++i)
        for (int k = 0; k < plain.taps(); ++k) same &= plain.weight(i, k) == reduced.weight(i, k);
      REQUIRE(same);
    }
  }
}

TEST_CASE("the reduction leaves a good part to the triangle", "[transform]") {
  const auto reduction = [](const Size& box, const Size& size, bool antialias = true) {
    return reduction_of({{3, 5, box.width, box.height}, size, {0, 0, 1, 1}, false, antialias});
  };
  CHECK(reduction({320, 320}, {100, 100}) == 2);
  CHECK(reduction({319, 320}, {100, 100}) == 1);
  CHECK(reduction({320, 319}, {100, 100}) == 1);
  CHECK(reduction({640, 700}, {100, 100}) == 4);
  CHECK(reduction({1280, 1280}, {100, 100}) == 8);
  CHECK(reduction({64000, 64000}, {10, 10}) == 8);
  CHECK(reduction({64000, 10}, {10, 10}) == 1);
  CHECK(reduction({1280, 1280}, {100, 100}, false) == 1);
  CHECK(reduction({50, 50}, {100, 100}) == 1);
}

TEST_CASE("a program that is not fast never reduces", "[transform]") {
  const test::PictureChain plain = test::program_of(R"({ op = "resize", size = [20, 20] })");
  config::OutputSpec output = test::output_of(R"({ op = "resize", size = [20, 20] })");
  output.ops.front().parameters["fast"] = true;
  const test::PictureChain fast(output);
  CHECK_FALSE(plain.way().fast);
  CHECK(fast.way().fast);
  Geometry geometry;
  fast.resolve({400, 300}, {}, geometry);
  CHECK(geometry.reduction == 8);
  CHECK(geometry.decoded == Box{0, 0, 400, 300});
  plain.resolve({400, 300}, {}, geometry);
  CHECK(geometry.reduction == 1);
}

}  // namespace
}  // namespace spdld::image::reduced_test
