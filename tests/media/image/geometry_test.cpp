// The geometry of chains: torchvision's definitions, draws, and what is folded into one pass.
#include "daemon/media/image/geometry/geometry.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "config/picture_size.h"
#include "daemon/base/result.h"
#include "tests/support/image_programs.h"

namespace spdld::geometry_test {
namespace {

using image::Geometry;
using test::noise;
using test::program_of;
using test::render;

Geometry resolved(const std::string& ops, const Size& picture, const Draws& draws = {}) {
  Geometry geometry;
  program_of(ops).resolve(picture, draws, geometry);
  return geometry;
}

const std::string kRrc = "{ op = \"random-resized-crop\", size = 24 }";
const std::string kFlip = "{ op = \"horizontal-flip\", p = 1 }";

Size shorter(const Size& picture, int side) {
  const auto size = config::shorter_side_size({picture.height, picture.width}, side);
  return {static_cast<int>(size.width), static_cast<int>(size.height)};
}

TEST_CASE("the shorter side's size is torchvision's", "[transform]") {
  CHECK(shorter({500, 375}, 256) == Size{341, 256});
  CHECK(shorter({375, 500}, 256) == Size{256, 341});
  CHECK(shorter({100, 100}, 7) == Size{7, 7});
  CHECK(shorter({3, 1000}, 2) == Size{2, 666});
  CHECK(shorter({65000, 1}, 256) == Size{config::kLongestSideMax, 256});
}

Size resized(const Size& picture, const std::string& parameters) {
  const auto resize = test::output_of("{ op = \"resize\", " + parameters + " }, { op = \"center-crop\", size = 8 }");
  const auto size = config::ResizeRule(resize.ops[1]).size_for({picture.height, picture.width});
  return {static_cast<int>(size.width), static_cast<int>(size.height)};
}

// The sizes of torchvision's Resize(size, max_size = ...).
TEST_CASE("a bound of the longer side makes the shorter one shorter", "[transform]") {
  CHECK(resized({500, 375}, "size = 256, max_size = 300") == Size{300, 225});
  CHECK(resized({375, 500}, "size = 256, max_size = 300") == Size{225, 300});
  CHECK(resized({500, 375}, "size = 256, max_size = 341") == Size{341, 256});
  CHECK(resized({500, 375}, "size = 256, max_size = 340") == Size{340, 255});
  CHECK(resized({640, 427}, "size = 800, max_size = 1333") == Size{1199, 800});
  CHECK(resized({640, 300}, "size = 800, max_size = 1333") == Size{1333, 625});
  CHECK(resized({3, 16384}, "size = 8, max_size = 9") == Size{1, 9});
  CHECK(resized({500, 375}, "size = 256, max_size = 0") == Size{341, 256});
}

TEST_CASE("the longer side gets the size, and the shorter one follows", "[transform]") {
  CHECK(resized({500, 375}, "size = 256, side = \"longer\"") == Size{256, 192});
  CHECK(resized({333, 1000}, "size = 100, side = \"longer\"") == Size{33, 100});
  CHECK(resized({100, 100}, "size = 7, side = \"longer\"") == Size{7, 7});
  CHECK(resized({1, 60000}, "size = 256, side = \"longer\"") == Size{1, 256});
  CHECK(resized({100, 50}, "size = [7, 9]") == Size{9, 7});
  const auto rendered = render(program_of("{ op = \"resize\", size = 30, side = \"longer\" }, "
                                          "{ op = \"center-crop\", size = [15, 30] }"),
                               noise({60, 31}, 3));
  CHECK(rendered.geometry.passes.front().size == Size{30, 15});
}

TEST_CASE("center-crop rounds its place to even and fills up with black", "[transform]") {
  CHECK(resolved("{ op = \"center-crop\", size = 4 }", {9, 7}).decoded == Box{2, 2, 4, 4});   // 2.5, 1.5
  CHECK(resolved("{ op = \"center-crop\", size = 4 }", {11, 8}).decoded == Box{4, 2, 4, 4});  // 3.5
  const PixelRows rows = noise({5, 12}, 3);
  const auto padded = render(program_of("{ op = \"center-crop\", size = [8, 8] }"), rows);
  CHECK(padded.geometry.decoded == Box{0, 2, 5, 8});
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      const uint8_t* pixel = padded.tensor.data() + 3 * (8 * y + x);
      const bool inside = x >= 1 && x < 6;  // 3 columns are missing: 1 before, 2 behind
      if (pixel[1] != (inside ? rows.row(2 + y)[3 * (x - 1) + 1] : 0)) FAIL(x << "," << y);
    }
  }
}

// A chain's result is that of its steps done one by one, each on the uint8 picture before it.
TEST_CASE("what is folded into one pass gives the pixels of the steps", "[transform]") {
  const PixelRows rows = noise({120, 90}, 4);
  const auto resized = render(program_of("{ op = \"resize\", size = [50, 70] }"), rows).tensor;
  const auto pixel = [](const std::vector<uint8_t>& picture, int width, int x, int y) {
    return picture.data() + 3 * (static_cast<ptrdiff_t>(width) * y + x);
  };
  const auto cropped =
      render(program_of("{ op = \"resize\", size = [50, 70] }, { op = \"center-crop\", size = [20, 31] }"), rows);
  CHECK(cropped.geometry.passes.size() == 1);
  CHECK(cropped.geometry.decoded.width < 60);
  const auto flipped = render(
      program_of("{ op = \"resize\", size = [50, 70] }, { op = \"center-crop\", size = [20, 31] }, " + kFlip), rows);
  const auto flipped_first = render(
      program_of(kFlip + ", { op = \"resize\", size = [50, 70] }, { op = \"center-crop\", size = [20, 31] }"), rows);
  // 70 - 31 = 39 is odd: the crop of the mirrored picture starts at column 20, too.
  const int left = 20, top = 15;
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 31; ++x) {
      const uint8_t* expected = pixel(resized, 70, left + x, top + y);
      if (std::memcmp(pixel(cropped.tensor, 31, x, y), expected, 3) != 0) FAIL("crop " << x << "," << y);
      if (std::memcmp(pixel(flipped.tensor, 31, 30 - x, y), expected, 3) != 0) FAIL("flip " << x << "," << y);
      const uint8_t* mirrored = pixel(resized, 70, 69 - (left + x), top + y);
      for (int c = 0; c < 3; ++c) {  // mirrored weights round a little differently
        if (std::abs(pixel(flipped_first.tensor, 31, x, y)[c] - mirrored[c]) > 1) FAIL("flip first " << x << "," << y);
      }
    }
  }
}

TEST_CASE("a second resize works on the first one's picture", "[transform]") {
  const PixelRows rows = noise({64, 48}, 5);
  const std::string first = "{ op = \"resize\", size = [40, 30] }", second = "{ op = \"resize\", size = [25, 50] }";
  const auto both = render(program_of(first + ", " + second + ", " + kFlip), rows);
  CHECK(both.geometry.passes.size() == 2);
  PixelRows middle = noise({30, 40}, 0);
  const auto once = render(program_of(first), rows).tensor;
  std::memcpy(middle.memory.data(), once.data(), once.size());
  CHECK(both.tensor == render(program_of(second + ", " + kFlip), middle).tensor);
}

TEST_CASE("a resize of a padded picture sees the padding", "[transform]") {
  const PixelRows rows = noise({6, 6}, 6);
  const auto geometry = resolved("{ op = \"center-crop\", size = 10 }, { op = \"resize\", size = [5, 5] }", {6, 6});
  CHECK(geometry.passes.size() == 2);
  const auto tensor =
      render(program_of("{ op = \"center-crop\", size = 10 }, { op = \"resize\", size = [5, 5] }"), rows).tensor;
  CHECK(tensor[0] < 70);
}

TEST_CASE("a picture one pixel wide goes through every chain", "[transform]") {
  const PixelRows rows = noise({1, 3000}, 8);
  for (const std::string ops : {"{ op = \"resize\", size = 20 }, { op = \"center-crop\", size = 16 }",
                                "{ op = \"resize\", size = 20 }, { op = \"random-resized-crop\", size = 16 }",
                                "{ op = \"center-crop\", size = 16 }", "{ op = \"random-resized-crop\", size = 16 }"}) {
    const auto rendered = render(program_of(ops), rows);
    CHECK(rendered.tensor.size() == 16 * 16 * 3);
    CHECK(rendered.geometry.decoded.width == 1);
  }
}

TEST_CASE("flips without a resize", "[transform]") {
  const PixelRows rows = noise({21, 9}, 7);
  const auto once = render(program_of("{ op = \"center-crop\", size = [5, 8] }, " + kFlip), rows).tensor;
  const auto twice =
      render(program_of(kFlip +
                        ", { op = \"center-crop\", size = [5, 8] }, { op = \"horizontal-flip\", p = 1, draw = \"b\" }"),
             rows);
  const auto never =
      render(program_of("{ op = \"center-crop\", size = [5, 8] }, { op = \"horizontal-flip\", p = 0 }"), rows).tensor;
  CHECK(twice.geometry.passes.front().mirrored == false);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 8; ++x) {
      if (once[static_cast<size_t>(3 * (8 * y + 7 - x))] != never[static_cast<size_t>(3 * (8 * y + x))])
        FAIL(x << "," << y);
    }
  }
}

TEST_CASE("random-resized-crop draws boxes as torchvision defines them", "[transform]") {
  const auto program = program_of("{ op = \"random-resized-crop\", size = 24, scale = [0.2, 0.6], ratio = [0.5, 2] }");
  const Size picture{640, 480};
  Geometry geometry;
  double area = 0, log_ratio = 0, x = 0;
  const int count = 4000;
  for (int sample = 0; sample < count; ++sample) {
    program.resolve(picture, {9, 2, static_cast<uint64_t>(sample)}, geometry);
    const Box& box = geometry.drawn;
    REQUIRE((box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0));
    REQUIRE((box.x + box.width <= 640 && box.y + box.height <= 480));
    const double part = static_cast<double>(box.width) * box.height / (640 * 480),
                 ratio = static_cast<double>(box.width) / box.height;
    REQUIRE((part > 0.19 && part < 0.61 && ratio > 0.49 && ratio < 2.05));
    area += part / count;
    log_ratio += std::log(ratio) / count;
    x += (box.x + box.width / 2.0) / 640 / count;
  }
  CHECK(area == Approx(0.4).margin(0.02));    // boxes that don't fit are drawn again, which favours small ones a little
  CHECK(log_ratio == Approx(0).margin(0.1));  // ... and, of a wide picture, wide ones
  CHECK(x == Approx(0.5).margin(0.02));
}

TEST_CASE("a ratio is the width by the height", "[transform]") {
  const std::string quarter = "{ op = \"random-resized-crop\", size = 24, scale = [0.25, 0.25], ratio = ";
  const Box wide = resolved(quarter + "[2, 2] }", {400, 400}).drawn,
            high = resolved(quarter + "[0.5, 0.5] }", {400, 400}).drawn;
  CHECK(Size{wide.width, wide.height} == Size{283, 141});
  CHECK(Size{high.width, high.height} == Size{141, 283});
}

TEST_CASE("a picture that no box fits gives its middle", "[transform]") {
  const std::string ops = "{ op = \"random-resized-crop\", size = 8, scale = [1, 1], ratio = [0.75, 1.3333] }";
  CHECK(resolved(ops, {100, 1000}).drawn == Box{0, 433, 100, 133});
  CHECK(resolved(ops, {1000, 100}).drawn == Box{433, 0, 133, 100});
  CHECK(resolved(ops, {1, 1}).drawn == Box{0, 0, 1, 1});
}

TEST_CASE("draws are shared by name and depend on the sample alone", "[transform]") {
  const Size picture{300, 200};
  const Draws draws{1, 2, 3};
  const std::string other = "{ op = \"random-resized-crop\", size = 24, draw = \"mask\" }";
  const std::string named = "{ op = \"random-resized-crop\", size = 60, draw = \"random-resized-crop\" }";
  CHECK(resolved(kRrc, picture, draws).drawn == resolved(named, picture, draws).drawn);
  CHECK(resolved(kRrc, picture, draws).drawn != resolved(other, picture, draws).drawn);
  std::set<int> widths;
  for (uint64_t i = 0; i < 20; ++i) widths.insert(resolved(kRrc, picture, {1, i % 4, i / 4}).drawn.width);
  CHECK(widths.size() > 10);
}

TEST_CASE("a flip has its probability", "[transform]") {
  const auto program = program_of("{ op = \"random-resized-crop\", size = 8 }, { op = \"horizontal-flip\", p = 0.3 }");
  Geometry geometry;
  int flipped = 0;
  for (uint64_t sample = 0; sample < 4000; ++sample) {
    program.resolve({50, 50}, {1, 1, sample}, geometry);
    flipped += geometry.passes.back().mirrored;
  }
  CHECK(flipped > 1080);
  CHECK(flipped < 1320);
}

TEST_CASE("a drawn box is in the picture's own pixels", "[transform]") {
  const auto program =
      program_of("{ op = \"center-crop\", size = 100 }, { op = \"random-resized-crop\", size = 8, box = \"crop\" }");
  Geometry geometry;
  for (uint64_t sample = 0; sample < 100; ++sample) {
    program.resolve({200, 300}, {1, 1, sample}, geometry);
    REQUIRE((geometry.drawn.x >= 50 && geometry.drawn.x + geometry.drawn.width <= 150));
    REQUIRE((geometry.drawn.y >= 100 && geometry.drawn.y + geometry.drawn.height <= 200));
    REQUIRE(geometry.decoded == geometry.drawn);
  }
}

TEST_CASE("only the part of the box that the window needs is decoded", "[transform]") {
  const auto geometry = resolved("{ op = \"resize\", size = 64 }, { op = \"center-crop\", size = 32 }", {640, 640});
  CHECK(geometry.passes.front().box == Box{0, 0, 640, 640});
  CHECK(geometry.decoded.x >= 150);
  CHECK(geometry.decoded.width <= 340);
  CHECK(geometry.decoded.y >= 150);
  CHECK(geometry.decoded.height <= 340);
}

}  // namespace
}  // namespace spdld::geometry_test
