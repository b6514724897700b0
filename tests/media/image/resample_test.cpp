// Resampling beside the same filter in double precision, and every instruction set beside the plain code.
#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "daemon/media/image/kernels/resample.h"
#include "tests/support/image_programs.h"

namespace spdld::resample_test {
namespace {

using image::AxisRequest;
using image::AxisWeights;
using image::Band;
using image::BandSource;
using image::kBandRows;

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
      for (int k = 0; k < weights.taps(); ++k) sum += weights.weight(i, k);
      const bool inside = weights.start(i) >= 0 && weights.range().first >= 0 && weights.range().end <= request.in &&
                          weights.range().first + weights.start(i) + weights.taps() <= weights.range().end;
      if (!inside || sum < AxisWeights::kOne - 1 || sum > AxisWeights::kOne)
        FAIL("in " << request.in << " out " << request.out);
    }
  }
}

template <typename T>
T* aligned(std::vector<T>& memory) {
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// Bands of `sources` one after another, as interleaved rows; whether they were made so or in planes.
std::vector<uint8_t> run_bands(Band band, bool planar) {
  const AxisWeights& vertical = *band.sources[0].vertical;
  std::vector<std::vector<int16_t>> columns;
  for (BandSource& from : band.sources) {
    if (from.first == nullptr) continue;
    columns.emplace_back(BandSource::columns_size(from.width() * 3) + 64);
    from.columns = aligned(columns.back());
  }
  band.layout = {planar, band.sources[0].horizontal->count()};
  const size_t stride = band.layout.bytes();
  const auto plane = static_cast<ptrdiff_t>(band.layout.plane_bytes());
  std::vector<uint8_t> turned(stride * kBandRows + 64), out(stride * kBandRows + 64), picture;
  band.turned = aligned(turned);
  band.out = out.data();
  for (int y = 0; y < vertical.count(); y += kBandRows) {
    band.first_row = y;
    band.rows = std::min(kBandRows, vertical.count() - y);
    image::resample_band(band);
    for (int r = 0; r < band.rows; ++r) {
      const auto row = out.begin() + static_cast<ptrdiff_t>(stride * static_cast<size_t>(r));
      for (ptrdiff_t i = 0; i < 3 * band.layout.width; ++i) {
        picture.push_back(planar ? row[i % 3 * plane + i / 3] : row[i]);
      }
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

// Weights of a whole picture from size to size, and of its chroma where that is smaller.
struct PictureWeights {
  AxisWeights vertical, horizontal, chroma_vertical, chroma_horizontal;

  PictureWeights(const Size& from, const Size& to, bool mirrored, bool antialias) {
    vertical.fill({from.height, to.height, 0, to.height, false, antialias});
    horizontal.fill({from.width, to.width, 0, to.width, mirrored, antialias});
    chroma_vertical.fill(vertical, {(from.height + 1) / 2, 0, true});
    chroma_horizontal.fill(horizontal, {(from.width + 1) / 2, 0, true});
  }
};

Band band_of(Band::Colours colours, const PixelRows& rows, const PixelRows& chroma, const PictureWeights& weights) {
  const auto at = [](const PixelRows& source, const AxisWeights& vertical, const AxisWeights& horizontal, int channels,
                     int offset) {
    const uint8_t* first = source.row(vertical.range().first) + channels * horizontal.range().first + offset;
    return BandSource{first, source.stride_bytes, &vertical, &horizontal, nullptr};
  };
  Band band;
  band.colours = colours;
  band.sources[0] = at(rows, weights.vertical, weights.horizontal, colours == Band::Colours::kRgb ? 3 : 1, 0);
  if (colours != Band::Colours::kYcc) return band;
  // Cb lies beside Cr in the rows of `chroma`.
  band.sources[1] = at(chroma, weights.chroma_vertical, weights.chroma_horizontal, 1, 0);
  band.sources[2] = at(chroma, weights.chroma_vertical, weights.chroma_horizontal, 1, chroma.picture.width);
  return band;
}

TEST_CASE("every instruction set gives the same bytes, interleaved and in planes", "[transform]") {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  REQUIRE(targets.size() >= 2);  // the plain one and at least one other
  const auto colours = GENERATE(Band::Colours::kRgb, Band::Colours::kYcc, Band::Colours::kGrey);
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const int wide = round % 10 == 0 ? 6 : 1;  // many taps
    const Size from{1 + static_cast<int>(random() % 180) * wide, 1 + static_cast<int>(random() % 120) * wide};
    const Size to{1 + static_cast<int>(random() % 90) / wide / wide, 1 + static_cast<int>(random() % 90) / wide / wide};
    const PixelRows rows = test::noise(from, static_cast<uint32_t>(round));
    const PixelRows chroma = test::noise({(from.width + 1) / 2, (from.height + 1) / 2}, 1000);
    const PictureWeights weights(from, to, round % 2 == 0, round % 3 != 0);
    const Band band = band_of(colours, rows, chroma, weights);
    std::vector<uint8_t> first;
    for (const int64_t target : targets) {
      const OnlyTarget only(target);
      for (const bool planar : {false, true}) {
        const auto picture = run_bands(band, planar);
        if (first.empty()) first = picture;
        CAPTURE(hwy::TargetName(target), planar, from.width, from.height, to.width, to.height);
        REQUIRE(picture == first);
      }
    }
  }
}

}  // namespace
}  // namespace spdld::resample_test
