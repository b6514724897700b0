// The weights of filters: that sums of them stay within 32 bits, what they name, and what is refused.
#include "daemon/media/image/kernels/filter.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "config/checks/load.h"
#include "daemon/media/image/kernels/resample_fixed.h"
#include "tests/support/image_programs.h"

namespace spdld::image::filter_test {
namespace {

constexpr Filter kWeighted[] = {Filter::kBicubic, Filter::kLanczos, Filter::kBox, Filter::kTriangle};

AxisRequest random_request(std::mt19937& random, Filter filter, int side_max) {
  AxisRequest request;
  request.in = 1 + static_cast<int>(random() % static_cast<unsigned>(side_max));
  request.out = 1 + static_cast<int>(random() % static_cast<unsigned>(side_max));
  request.first = static_cast<int>(random() % static_cast<unsigned>(request.out));
  request.count = 1 + static_cast<int>(random() % static_cast<unsigned>(request.out - request.first));
  request.mirrored = random() % 2 == 0;
  request.filter = filter;
  return request;
}

TEST_CASE("weights in fixed point name source pixels, add up to one, and can't overflow a sum", "[transform]") {
  std::mt19937 random(5);
  FixedWeights weights;
  int64_t largest = 0;
  const Filter filter = GENERATE(from_range(std::begin(kWeighted), std::end(kWeighted)));
  for (int round = 0; round < 2000; ++round) {
    const int side_max = round % 10 == 0 ? 3000 : round % 2 == 0 ? 12 : 200;
    const AxisRequest request = random_request(random, filter, side_max);
    weights.fill(request);
    REQUIRE(weights.count() == request.count);
    for (int i = 0; i < request.count; ++i) {
      int64_t sum = 0, absolute = 0;
      for (int k = 0; k < weights.taps(i); ++k) {
        sum += weights.weights(i)[k];
        absolute += std::abs(int64_t{weights.weights(i)[k]});
      }
      largest = std::max(largest, absolute);
      const bool inside = weights.start(i) >= 0 && weights.range().first >= 0 && weights.range().end <= request.in &&
                          weights.range().first + weights.end(i) <= weights.range().end && weights.taps(i) > 0;
      if (!inside || std::abs(sum - (1 << FixedWeights::kFractionBits)) > weights.taps(i) / 2 + 1)
        FAIL("in " << request.in << " out " << request.out << " sum " << sum);
    }
  }
  CHECK(largest * 255 + (1 << 21) <= INT32_MAX);
  CHECK(static_cast<double>(largest) < 1.9 * (1 << FixedWeights::kFractionBits));
}

TEST_CASE("the longest side shrinks to one pixel without an overflow", "[transform]") {
  for (const Filter filter : kWeighted) {
    FixedWeights weights;
    AxisRequest request;
    request.in = 65'500;
    request.filter = filter;
    weights.fill(request);
    int64_t absolute = 0;
    for (int k = 0; k < weights.taps(0); ++k) absolute += std::abs(int64_t{weights.weights(0)[k]});
    CHECK(absolute * 255 + (1 << 21) <= INT32_MAX);
  }
}

TEST_CASE("bicubic without antialias repeats the pixels at the edges", "[transform]") {
  AxisRequest request;
  request.in = 2, request.out = 4, request.filter = Filter::kBicubic, request.antialias = false;
  PixelWeights weights;
  weights.make(request, 0);  // the centre lies at -0.25: a quarter before the first pixel
  REQUIRE(weights.first() == 0);
  REQUIRE(weights.weights().size() == 2);
  CHECK(weights.weights()[0] + weights.weights()[1] == Approx(1));
  CHECK(weights.weights()[1] == Approx(-0.10546875));
}

TEST_CASE("a picture of one colour keeps it by every filter, however far it shrinks", "[transform]") {
  const std::string filter = GENERATE(as<std::string>(), "nearest", "bicubic", "lanczos", "box");
  for (const int side : {3, 20, 225, 4000, 16000}) {
    for (const int value : {0, 1, 127, 254, 255}) {
      PixelRows rows = test::noise({side, 3}, 1);
      std::memset(rows.memory.data(), value, rows.memory.size());
      const auto rendered =
          test::render(test::program_of("{ op = \"resize\", size = [2, 20], filter = \"" + filter + "\" }"), rows);
      int farthest = 0;
      for (const uint8_t got : rendered.tensor) farthest = std::max(farthest, std::abs(got - value));
      CAPTURE(filter, side, value);
      CHECK(farthest == 0);
    }
  }
}

TEST_CASE("fast pictures are not reduced for another filter", "[transform]") {
  const Pass shrunk{.box = {0, 0, 1280, 1280}, .size = {100, 100}, .window = {0, 0, 100, 100}};
  CHECK(reduction_of(shrunk) == 8);
  for (const Filter filter : {Filter::kNearest, Filter::kBicubic, Filter::kLanczos, Filter::kBox}) {
    Pass pass = shrunk;
    pass.filter = filter;
    CHECK(reduction_of(pass) == 1);
  }
}

std::string complaint(const std::string& ops) {
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"image\"\n"
      "from = \"image\"\nops = [{ op = \"decode-image\" }, " +
          ops + "]\n",
      "test.toml");
  return spec.sentences();
}

TEST_CASE("lanczos and box are always antialiased", "[transform]") {
  const std::string resize = "{ op = \"resize\", size = [8, 8], antialias = false, filter = \"";
  CHECK_THAT(complaint(resize + "lanczos\" }"), Catch::Contains("must be true with filter = \"lanczos\""));
  CHECK_THAT(complaint(resize + "box\" }"), Catch::Contains("must be true with filter = \"box\""));
  CHECK_THAT(complaint(resize + "hamming\" }"), Catch::Contains("\"bicubic\""));
  for (const std::string name : {"bilinear", "nearest", "bicubic"}) CHECK(complaint(resize + name + "\" }").empty());
}

TEST_CASE("a side and a bound stand beside one number alone", "[transform]") {
  const auto of = [](const std::string& rest) {
    return complaint("{ op = \"resize\", " + rest + " }, { op = \"center-crop\", size = 8 }");
  };
  CHECK_THAT(of("size = [8, 9], side = \"longer\""), Catch::Contains("a size of one number alone"));
  CHECK_THAT(of("size = [8, 9], max_size = 20"), Catch::Contains("a size of one number alone"));
  CHECK_THAT(of("size = 8, side = \"longer\", max_size = 20"), Catch::Contains("can't stand beside"));
  CHECK_THAT(of("size = 8, max_size = 8"), Catch::Contains("must be more than size"));
  CHECK(of("size = 8, max_size = 9").empty());
  const auto plain =
      test::output_of("{ op = \"resize\", size = 8, side = \"shorter\" }, { op = \"center-crop\", size = 8 }");
  CHECK(plain.ops[1].parameters.size() == 2);  // as before there were filters, sides and bounds
}

TEST_CASE("a filter that is the default leaves the spec as it was", "[transform]") {
  const std::string plain = "{ op = \"resize\", size = [8, 8]";
  CHECK_FALSE(test::output_of(plain + " }").ops[1].parameters.contains("filter"));
  CHECK_FALSE(test::output_of(plain + ", filter = \"bilinear\" }").ops[1].parameters.contains("filter"));
  CHECK(test::output_of(plain + ", filter = \"box\" }").ops[1].text("filter") == "box");
}

}  // namespace
}  // namespace spdld::image::filter_test
