// Pictures turned upside down, and boxes cut out of them: beside the same chains without a flip.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/support/image_programs.h"

namespace spdld::flip_test {
namespace {

using Bytes = std::vector<uint8_t>;
using test::render;

const std::string kFlip = "{ op = \"vertical-flip\", p = 1 }";

PixelRows noise_of(const Size& size, const PixelFormat& format) {
  PixelRows rows = test::noise({size.width * format.pixel_bytes() / 3 + 1, size.height}, 9);
  rows.format = format;
  rows.picture = size;
  rows.covers = {0, 0, size.width, size.height};
  rows.stride_bytes = static_cast<size_t>(size.width * format.pixel_bytes());
  return rows;
}

Bytes upside_down(const Bytes& picture, size_t height) {
  const size_t row = picture.size() / height;
  Bytes turned(picture.size());
  for (size_t y = 0; y < height; ++y)
    std::memcpy(turned.data() + row * (height - 1 - y), picture.data() + row * y, row);
  return turned;
}

struct DecodedAs {
  std::string decode;
  PixelFormat format;
};

TEST_CASE("a flipped picture has its rows in the other order, whatever the operations are", "[transform]") {
  const std::string ops =
      GENERATE(as<std::string>(), R"({ op = "center-crop", size = [41, 30] })",
               R"({ op = "center-crop", size = [71, 30] }, { op = "horizontal-flip", p = 1 })",
               R"({ op = "resize", size = [41, 30] })", R"({ op = "resize", size = [41, 30], filter = "bicubic" })",
               R"({ op = "resize", size = [99, 30], filter = "lanczos" })",
               R"({ op = "resize", size = [41, 30], filter = "nearest" }, { op = "center-crop", size = [46, 10] })",
               R"({ op = "random-resized-crop", size = [70, 50] }, { op = "horizontal-flip", p = 1 })");
  const auto [decode, format] = GENERATE(values<DecodedAs>(
      {{"", {}}, {", colours = \"grey\"", {1, 1}}, {", colours = \"rgba\"", {4, 1}}, {", bits = 16", {3, 2}}}));
  const std::string end =
      format.sample_bytes == 2 ? ", { op = \"convert\", dtype = \"uint16\", layout = \"NHWC\" }" : "";
  const PixelRows rows = noise_of({53, 60}, format);
  const test::PictureChain plain(test::output_of(ops + end, decode)),
      flipped(test::output_of(ops + ", " + kFlip + end, decode));
  const auto height = static_cast<size_t>(plain.tensor().shape[0]);
  CAPTURE(ops, decode);
  CHECK(render(flipped, rows).tensor == upside_down(render(plain, rows).tensor, height));
  CHECK(render(flipped, rows).geometry.decoded == render(plain, rows).geometry.decoded);
}

TEST_CASE("operations behind a flip work on the flipped picture", "[transform]") {
  const PixelRows rows = test::noise({53, 60}, 3);
  PixelRows turned = test::noise({53, 60}, 3);
  for (int y = 0; y < 60; ++y)
    std::memcpy(turned.memory.data() + turned.stride_bytes * static_cast<size_t>(59 - y), rows.row(y),
                rows.stride_bytes);
  for (const std::string ops :
       {R"({ op = "center-crop", size = [21, 30] })", R"({ op = "center-crop", size = [75, 75] })",
        R"({ op = "resize", size = [41, 30] }, { op = "center-crop", size = [20, 30] })",
        R"({ op = "random-resized-crop", size = [30, 31] }, { op = "horizontal-flip", p = 1 })",
        R"({ op = "resize", size = [30, 30], filter = "nearest" })",
        R"({ op = "resize", size = [40, 24], filter = "box" })",
        R"({ op = "random-resized-crop", size = [30, 31], filter = "bicubic" }, { op = "center-crop", size = 29 })",
        R"({ op = "resize", size = [41, 30], filter = "bicubic" }, { op = "resize", size = [61, 33] })"}) {
    for (uint64_t sample = 0; sample < 5; ++sample) {
      const Draws draws{4, 4, sample};
      const auto ours = render(test::program_of(kFlip + ", " + ops), rows, draws).tensor;
      const auto model = render(test::program_of(ops), turned, draws).tensor;
      int farthest = 0;  // flipped weights round a little differently
      for (size_t i = 0; i < ours.size(); ++i) farthest = std::max(farthest, std::abs(ours[i] - model[i]));
      CAPTURE(ops, sample);
      REQUIRE(ours.size() == model.size());
      CHECK(farthest <= (ops.find("filter") == std::string::npos ? 1 : 0));
    }
  }
}

TEST_CASE("two flips undo one another, and a flip has its probability", "[transform]") {
  const PixelRows rows = test::noise({53, 60}, 3);
  const std::string crop = "{ op = \"center-crop\", size = [20, 30] }", other = ", draw = \"b\" }";
  const std::string again = "{ op = \"vertical-flip\", p = 1" + other;
  CHECK(render(test::program_of(kFlip + ", " + crop + ", " + again), rows).tensor !=
        render(test::program_of(kFlip + ", " + crop), rows).tensor);
  CHECK(render(test::program_of(crop + ", " + kFlip + ", " + again), rows).tensor ==
        render(test::program_of(crop), rows).tensor);
  const auto program = test::program_of(crop + ", { op = \"vertical-flip\", p = 0.3 }, { op = \"horizontal-flip\" }");
  image::Geometry geometry;
  int flipped = 0, both = 0;
  for (uint64_t sample = 0; sample < 4000; ++sample) {
    program.resolve({50, 50}, {1, 1, sample}, geometry);
    flipped += geometry.passes.back().flipped;
    both += geometry.passes.back().flipped && geometry.passes.back().mirrored;
  }
  CHECK((flipped > 1080 && flipped < 1320));
  CHECK((both > 500 && both < 700));  // the flips draw apart
}

TEST_CASE("a border of one pixel behind a crop is black", "[transform]") {
  const PixelRows rows = test::noise({20, 20}, 3);
  const auto tensor =
      render(test::program_of("{ op = \"center-crop\", size = 10 }, { op = \"center-crop\", size = 11 }"), rows).tensor;
  for (int y = 0; y < 11; ++y) {
    for (int x = 0; x < 11; ++x) {
      const int wanted = x < 10 && y < 10 ? rows.row(5 + y)[3 * (5 + x)] : 0;
      if (tensor[static_cast<size_t>(3 * (11 * y + x))] != wanted) FAIL(x << "," << y);
    }
  }
}

}  // namespace
}  // namespace spdld::flip_test
