// Resampling beside the same filter in double precision, and every instruction set beside the plain code.
#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "daemon/transform/resample.h"
#include "tests/transform/programs.h"

namespace spdld {
namespace {

using transform::AxisRequest;
using transform::AxisWeights;
using transform::Band;
using transform::kBandRows;

// Pillow's triangle filter along one axis, straight from its definition: the weights of wanted pixel i.
std::vector<double> exact_weights(const AxisRequest& request, int i) {
  const double scale = static_cast<double>(request.in) / request.out;
  const double support = request.antialias ? std::max(scale, 1.0) : 1.0, centre = (i + 0.5) * scale;
  std::vector<double> weights(static_cast<size_t>(request.in), 0.0);
  double sum = 0;
  for (int at = 0; at < request.in; ++at) {
    const double weight = std::max(0.0, 1 - std::abs(at + 0.5 - centre) / support);
    weights[static_cast<size_t>(at)] = weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> exact_resize(const PixelRows& rows, const Size& to, bool antialias) {
  const Size from = rows.picture;
  std::vector<double> middle(static_cast<size_t>(to.height * from.width * 3), 0.0);
  std::vector<double> result(static_cast<size_t>(to.height * to.width * 3), 0.0);
  for (int y = 0; y < to.height; ++y) {
    const auto weights = exact_weights({from.height, to.height, 0, 1, false, antialias}, y);
    for (int at = 0; at < from.height; ++at) {
      if (weights[static_cast<size_t>(at)] == 0) continue;
      for (int i = 0; i < from.width * 3; ++i) {
        middle[static_cast<size_t>(y * from.width * 3 + i)] += weights[static_cast<size_t>(at)] * rows.row(at)[i];
      }
    }
  }
  for (int x = 0; x < to.width; ++x) {
    const auto weights = exact_weights({from.width, to.width, 0, 1, false, antialias}, x);
    for (int at = 0; at < from.width; ++at) {
      if (weights[static_cast<size_t>(at)] == 0) continue;
      for (int y = 0; y < to.height; ++y) {
        for (int c = 0; c < 3; ++c) {
          result[static_cast<size_t>((y * to.width + x) * 3 + c)] +=
              weights[static_cast<size_t>(at)] * middle[static_cast<size_t>((y * from.width + at) * 3 + c)];
        }
      }
    }
  }
  return result;
}

std::string resize_op(const Size& to, bool antialias) {
  return "{ op = \"resize\", size = [" + std::to_string(to.height) + ", " + std::to_string(to.width) +
         "], antialias = " + (antialias ? "true" : "false") + " }";
}

TEST_CASE("resizing is within rounding of the exact filter", "[transform]") {
  struct Way {
    Size from, to;
  };
  const auto [from, to] = GENERATE(values<Way>({{{300, 270}, {224, 224}},
                                                {{100, 80}, {224, 224}},
                                                {{224, 224}, {224, 100}},
                                                {{37, 500}, {64, 31}},
                                                {{1, 1}, {20, 20}},
                                                {{5, 3}, {1, 1}},
                                                {{2, 7}, {7, 2}},
                                                {{900, 700}, {33, 17}},
                                                {{1500, 1200}, {9, 11}},
                                                {{16, 16}, {17, 15}}}));
  const bool antialias = GENERATE(true, false);
  CAPTURE(from.width, from.height, to.width, to.height, antialias);
  const PixelRows rows = test::noise(from, 7);
  const auto exact = exact_resize(rows, to, antialias);
  const auto rendered = test::render(test::program_of(resize_op(to, antialias)), rows);
  double farthest = 0;
  for (size_t i = 0; i < exact.size(); ++i) farthest = std::max(farthest, std::abs(exact[i] - rendered.tensor[i]));
  CHECK(farthest < 0.5 + 0.12);  // half a level is the rounding; the rest is 16-bit arithmetic
}

TEST_CASE("a picture of one colour keeps it, however far it shrinks", "[transform]") {
  for (const int side : {225, 300, 1000, 4000, 16000}) {
    for (const int value : {0, 1, 85, 127, 128, 200, 254, 255}) {
      PixelRows rows = test::noise({side, 3}, 1);
      std::memset(rows.memory.data(), value, rows.memory.size());
      const auto rendered = test::render(test::program_of(resize_op({20, 2}, true)), rows);
      int farthest = 0;
      for (const uint8_t got : rendered.tensor) farthest = std::max(farthest, std::abs(got - value));
      CAPTURE(side, value);
      CHECK(farthest == 0);
    }
  }
}

TEST_CASE("weights sum to one and name only source pixels", "[transform]") {
  std::mt19937 random(5);
  AxisWeights weights;
  for (int round = 0; round < 3000; ++round) {
    AxisRequest request;
    request.in = 1 + static_cast<int>(random() % 900);
    request.out = 1 + static_cast<int>(random() % 500);
    request.first = static_cast<int>(random() % static_cast<unsigned>(request.out));
    request.count = 1 + static_cast<int>(random() % static_cast<unsigned>(request.out - request.first));
    request.mirrored = random() % 2 == 0;
    request.antialias = random() % 4 != 0;
    weights.fill(request);
    REQUIRE(weights.count() == request.count);
    for (int i = 0; i < request.count; ++i) {
      int sum = 0;
      for (int k = 0; k < weights.taps(i); ++k) sum += weights.weights(i)[k];
      const bool inside = weights.start(i) >= 0 && weights.range().first >= 0 && weights.range().end <= request.in &&
                          weights.range().first + weights.start(i) + weights.taps(i) <= weights.range().end;
      if (!inside || sum < AxisWeights::kOne - 1 || sum > AxisWeights::kOne)
        FAIL("in " << request.in << " out " << request.out);
    }
  }
}

template <typename T>
T* aligned(std::vector<T>& memory) {
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
}

std::vector<uint8_t> run_bands(const PixelRows& rows, const AxisWeights& vertical, const AxisWeights& horizontal) {
  const size_t stride = Band::row_bytes(horizontal.count()), line = static_cast<size_t>(horizontal.count()) * 3;
  std::vector<int16_t> columns(Band::columns_size(rows.picture.width) + 64);
  std::vector<uint8_t> turned(Band::turned_size(horizontal.count()) + 64), out(stride * kBandRows + 64), picture;
  for (int y = 0; y < vertical.count(); y += kBandRows) {
    Band band;
    band.source = rows.row(vertical.range().first) + 3 * horizontal.range().first;
    band.source_stride_bytes = rows.stride_bytes;
    band.vertical = &vertical;
    band.horizontal = &horizontal;
    band.first_row = y;
    band.rows = std::min(kBandRows, vertical.count() - y);
    band.columns = aligned(columns);
    band.turned = aligned(turned);
    band.out = out.data();
    band.out_stride_bytes = stride;
    transform::resample_band(band);
    for (int r = 0; r < band.rows; ++r) {
      const auto row = out.begin() + static_cast<ptrdiff_t>(stride * static_cast<size_t>(r));
      picture.insert(picture.end(), row, row + static_cast<ptrdiff_t>(line));
    }
  }
  return picture;
}

struct OnlyTarget {
  explicit OnlyTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
  }
  ~OnlyTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_CASE("every instruction set gives the same bytes", "[transform]") {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  REQUIRE(targets.size() >= 2);  // the plain one and at least one other
  std::mt19937 random(11);
  for (int round = 0; round < 150; ++round) {
    const int wide = round % 10 == 0 ? 6 : 1;  // many taps
    const Size from{1 + static_cast<int>(random() % 180) * wide, 1 + static_cast<int>(random() % 120) * wide};
    const Size to{1 + static_cast<int>(random() % 90) / wide / wide, 1 + static_cast<int>(random() % 90) / wide / wide};
    const PixelRows rows = test::noise(from, static_cast<uint32_t>(round));
    AxisWeights vertical, horizontal;
    vertical.fill({from.height, to.height, 0, to.height, false, round % 3 != 0});
    horizontal.fill({from.width, to.width, 0, to.width, round % 2 == 0, round % 3 != 0});
    std::vector<uint8_t> first;
    for (const int64_t target : targets) {
      const OnlyTarget only(target);
      const auto picture = run_bands(rows, vertical, horizontal);
      if (first.empty()) first = picture;
      CAPTURE(hwy::TargetName(target), from.width, from.height, to.width, to.height);
      REQUIRE(picture == first);
    }
  }
}

}  // namespace
}  // namespace spdld
