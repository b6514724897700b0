// Operations on colours: what they draw, where they stand among the geometry's passes, and that they allocate nothing.
// Their values are held to torchvision's in tests/pixels/compare_colours.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "config/operation.h"
#include "daemon/media/chain.h"
#include "tests/support/allocations.h"
#include "tests/support/distributions.h"
#include "tests/support/image_programs.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/steady.h"

namespace spdld::colour_test {
namespace {

using image::Adjustment;
using image::AdjustmentType;
using image::Geometry;
using test::chi_squared;
using test::noise;
using test::program_of;
using test::render;
using test::uniform_distance;
constexpr uint64_t kDraws = 20'000;
const std::string kCrop = "{ op = \"center-crop\", size = [20, 30] }";

// The adjustments of each of many samples, in order.
std::vector<std::vector<Adjustment>> drawn(const std::string& ops) {
  const auto program = program_of(ops + ", " + kCrop);
  Geometry geometry;
  std::vector<std::vector<Adjustment>> all;
  for (uint64_t sample = 0; sample < kDraws; ++sample) {
    program.resolve({40, 30}, {9, 2, sample}, geometry);
    all.push_back(geometry.adjustments);
  }
  return all;
}

std::vector<double> amounts(const std::vector<std::vector<Adjustment>>& all, AdjustmentType type) {
  std::vector<double> numbers;
  for (const auto& adjustments : all)
    for (const Adjustment& adjustment : adjustments)
      if (adjustment.type == type) numbers.push_back(adjustment.amount);
  return numbers;
}

TEST_CASE("color-jitter draws torchvision's ranges and all orders", "[colour]") {
  const auto all =
      drawn("{ op = \"color-jitter\", brightness = 0.4, contrast = 1.5, saturation = [0.2, 3], hue = 0.1 }");
  CHECK(uniform_distance(amounts(all, AdjustmentType::kBrightness), 0.6, 1.4) < 2.2);
  CHECK(uniform_distance(amounts(all, AdjustmentType::kContrast), 0, 2.5) < 2.2);
  CHECK(uniform_distance(amounts(all, AdjustmentType::kSaturation), 0.2, 3) < 2.2);
  CHECK(uniform_distance(amounts(all, AdjustmentType::kHue), -0.1, 0.1) < 2.2);
  std::map<std::array<AdjustmentType, 4>, double> orders;
  for (const auto& each : all) {
    REQUIRE(each.size() == 4);
    ++orders[{each[0].type, each[1].type, each[2].type, each[3].type}];
  }
  CHECK(orders.size() == 24);
  CHECK(chi_squared(orders, kDraws, 24) < 58);  // 23 degrees: beyond 58 in one of 10,000
}

TEST_CASE("gains of hue, saturation and value lie around 1, or in their own range", "[colour]") {
  std::array<std::vector<double>, 3> gains;
  for (const auto& each : drawn("{ op = \"hsv-gains\", value = [0.5, 3] }")) {
    REQUIRE((each.size() == 1 && each[0].type == AdjustmentType::kHsvGains));
    for (size_t i = 0; i < gains.size(); ++i) gains[i].push_back(each[0].gains[i]);
  }
  CHECK(uniform_distance(gains[0], 0.985, 1.015) < 2.2);
  CHECK(uniform_distance(gains[1], 0.3, 1.7) < 2.2);
  CHECK(uniform_distance(gains[2], 0.5, 3) < 2.2);
}

TEST_CASE("color-jitter leaves out what changes nothing", "[colour]") {
  for (const auto& each : drawn("{ op = \"color-jitter\", contrast = 0.5, brightness = [1, 1] }")) {
    REQUIRE(each.size() == 1);
    CHECK(each[0].type == AdjustmentType::kContrast);
  }
}

TEST_CASE("orders of channels are equally likely", "[colour]") {
  std::map<std::array<uint8_t, 3>, double> orders;
  for (const auto& each : drawn("{ op = \"channel-permutation\" }")) ++orders[each.at(0).order];
  CHECK(chi_squared(orders, kDraws, 6) < 26);  // 5 degrees: beyond 26 in one of 10,000
}

TEST_CASE("probabilities are kept, and draws have their names", "[colour]") {
  const auto grey = drawn("{ op = \"grayscale\", p = 0.1 }");
  const auto hits = static_cast<double>(amounts(grey, AdjustmentType::kGrey).size());
  CHECK(std::abs(hits - 0.1 * kDraws) < 4 * std::sqrt(0.09 * kDraws));
  CHECK(uniform_distance(amounts(drawn("{ op = \"gaussian-blur\", kernel_size = 5 }"), AdjustmentType::kBlur), 0.1, 2) <
        2.2);
  const auto shared = drawn(
      "{ op = \"brightness\", factor = [0, 2], draw = \"a\" }, "
      "{ op = \"contrast\", factor = [0, 2], draw = \"a\" }, { op = \"saturation\", factor = [0, 2] }");
  CHECK(shared[0][0].amount == shared[0][1].amount);
  CHECK(shared[0][0].amount != shared[0][2].amount);
}

// Of values in the middle nothing is cut at black or white.
TEST_CASE("noise is normal, and cut off towards zero", "[colour]") {
  PixelRows rows = noise({200, 200}, 1);
  std::memset(rows.memory.data(), 128, rows.memory.size());
  const auto noisy = render(
      program_of("{ op = \"gaussian-noise\", mean = 0.02, sigma = 0.1 }, { op = \"center-crop\", size = 200 }"), rows);
  std::map<int, double> counts;
  for (const uint8_t value : noisy.tensor) ++counts[value - 128];
  const auto below = [](double at) { return std::erfc((0.02 * 255 - at) / (25.5 * std::sqrt(2.0))) / 2; };
  double sum = 0;
  for (int k = -60; k <= 70; ++k) {
    const double chance = k > 0 ? below(k + 1) - below(k) : k < 0 ? below(k) - below(k - 1) : below(1) - below(-1);
    const double wanted = chance * static_cast<double>(noisy.tensor.size());
    sum += (counts[k] - wanted) * (counts[k] - wanted) / wanted;
  }
  CHECK(sum < 200);  // 131 places: beyond 200 in one of 10,000
  const auto again =
      render(program_of("{ op = \"gaussian-noise\", mean = 0.02, sigma = 0.1 }, { op = \"center-crop\", size = 200 }"),
             rows, {0, 0, 1});
  CHECK(again.tensor != noisy.tensor);
}

TEST_CASE("noise may have no width", "[colour]") {
  PixelRows rows = noise({20, 10}, 1);
  for (const auto& [mean, step] : {std::pair{"0.2", 51}, std::pair{"-0.2", -51}}) {
    const auto moved = render(program_of("{ op = \"gaussian-noise\", sigma = 0, mean = " + std::string(mean) +
                                         " }, { op = \"center-crop\", size = [10, 20] }"),
                              rows);
    int wrong = 0;
    for (size_t i = 0; i < moved.tensor.size(); ++i)
      wrong += moved.tensor[i] != std::clamp(rows.row(0)[i] + step, 0, 255);
    CHECK(wrong == 0);
  }
}

// As each step on the picture of the one before it.
TEST_CASE("a geometry behind colours starts a pass of its own", "[colour]") {
  const PixelRows rows = noise({64, 48}, 5);
  const std::string invert = "{ op = \"invert\", p = 1 }", resize = "{ op = \"resize\", size = [20, 30] }";
  const auto plain = render(program_of(resize), rows);
  const auto last = render(program_of(resize + ", " + invert), rows);
  const auto first = render(program_of(invert + ", " + resize), rows);
  CHECK(last.geometry.passes.size() == 1);
  CHECK(first.geometry.passes.size() == 2);
  for (size_t i = 0; i < plain.tensor.size(); ++i) {
    if (last.tensor[i] != 255 - plain.tensor[i]) FAIL("last, at " << i);
    if (std::abs(first.tensor[i] - (255 - plain.tensor[i])) > 1) FAIL("first, at " << i);
  }
  const std::string padded = "{ op = \"center-crop\", size = [60, 80] }";
  const auto border = render(program_of(invert + ", " + padded), rows),
             white = render(program_of(padded + ", " + invert), rows);
  CHECK(border.tensor[0] == 0);
  CHECK(white.tensor[0] == 255);
  CHECK(render(program_of("{ op = \"invert\", p = 0 }, " + resize), rows).geometry.passes.size() == 1);
}

TEST_CASE("a drawn box is in the picture's pixels behind colours as well", "[colour]") {
  const std::string crop = "{ op = \"center-crop\", size = [30, 40] }, { op = \"horizontal-flip\", p = 1 }";
  const std::string box = ", { op = \"random-resized-crop\", size = 8, box = \"b\" }";
  const auto plain = program_of(crop + box);
  for (const std::string& ops : {"{ op = \"hue\", factor = 0.2 }, " + crop, crop + ", { op = \"equalize\", p = 1 }"}) {
    const auto coloured = program_of(ops + box);
    Geometry expected, geometry;
    for (uint64_t sample = 0; sample < 20; ++sample) {
      plain.resolve({100, 90}, {1, 1, sample}, expected);
      coloured.resolve({100, 90}, {1, 1, sample}, geometry);
      CHECK(geometry.drawn == expected.drawn);
    }
  }
}

TEST_CASE("the mean of contrast is that of the cut picture", "[colour]") {
  PixelRows rows = noise({60, 20}, 5);
  std::memset(rows.memory.data(), 10, rows.memory.size());
  for (int y = 0; y < 20; ++y) std::memset(rows.memory.data() + 180 * y, 200, 60);  // the left third is bright
  const std::string contrast = "{ op = \"contrast\", factor = 0 }", crop = "{ op = \"center-crop\", size = 20 }";
  const int cut = render(program_of(crop + ", " + contrast), rows).tensor[0];
  const int whole = render(program_of(contrast + ", " + crop), rows).tensor[0];
  CHECK(std::abs(cut - 10) <= 1);
  CHECK(std::abs(whole - 73) <= 1);
}

TEST_CASE("grey of one channel may be resized", "[colour]") {
  const PixelRows rows = noise({64, 48}, 5);
  const std::string resize = "{ op = \"resize\", size = [20, 30] }";
  const auto program = program_of("{ op = \"grayscale\", channels = 1 }, " + resize);
  const auto three = render(program_of("{ op = \"grayscale\" }, " + resize), rows);
  const auto one = render(program, rows);
  REQUIRE(one.tensor.size() == 600);
  for (size_t i = 0; i < one.tensor.size(); ++i)
    if (std::abs(one.tensor[i] - three.tensor[3 * i]) > 1) FAIL("at " << i);
}

TEST_CASE("qualities of a JPEG are equally likely", "[colour]") {
  std::map<double, double> counts;
  const auto all = drawn("{ op = \"jpeg\", quality = [31, 50] }");
  for (const double quality : amounts(all, AdjustmentType::kJpeg)) ++counts[quality];
  REQUIRE(counts.size() == 20);
  CHECK(counts.begin()->first == 31);
  CHECK(counts.rbegin()->first == 50);
  CHECK(chi_squared(counts, kDraws, 20) < 52);  // 19 degrees: beyond 52 in one of 10,000
  for (const double quality : amounts(drawn("{ op = \"jpeg\", quality = 70 }"), AdjustmentType::kJpeg)) {
    if (quality != 70) FAIL(quality);
  }
  const auto hits =
      static_cast<double>(amounts(drawn("{ op = \"jpeg\", quality = 70, p = 0.3 }"), AdjustmentType::kJpeg).size());
  CHECK(std::abs(hits - 0.3 * kDraws) < 4 * std::sqrt(0.21 * kDraws));
}

// libjpeg's blocks begin at the upper left corner of what it is given.
TEST_CASE("a flip stands on its own side of a JPEG", "[colour]") {
  const PixelRows rows = noise({20, 12}, 5);
  const std::string flip = "{ op = \"horizontal-flip\", p = 1 }", jpeg = "{ op = \"jpeg\", quality = 20 }";
  const std::string crop = "{ op = \"center-crop\", size = [12, 20] }, ";
  const auto before = render(program_of(crop + flip + ", " + jpeg), rows);
  const auto behind = render(program_of(crop + jpeg + ", " + flip), rows);
  CHECK(before.tensor != behind.tensor);
  const auto both = render(program_of(crop + flip + ", " + jpeg + ", " + flip), rows);
  int wrong = 0;
  for (size_t y = 0; y < 12; ++y)
    for (size_t x = 0; x < 20 * 3; ++x)
      wrong += both.tensor[y * 60 + x] != before.tensor[y * 60 + (19 - x / 3) * 3 + x % 3];
  CHECK(wrong == 0);
}

TEST_CASE("a side of a JPEG has a limit", "[colour]") {
  const auto program = program_of("{ op = \"jpeg\", quality = 75 }, { op = \"center-crop\", size = 3 }");
  Geometry geometry;
  for (const Size& size : {Size{65'500, 3}, Size{3, 65'500}}) {
    program.resolve(size, {}, geometry);
    CHECK_FALSE(geometry.beyond_jpeg);
  }
  for (const Size& size : {Size{65'501, 3}, Size{3, 65'501}}) {
    program.resolve(size, {}, geometry);
    REQUIRE(geometry.beyond_jpeg);
    CHECK(*geometry.beyond_jpeg == size);
    CHECK(geometry.adjustments.empty());
  }
  const auto cut = program_of("{ op = \"center-crop\", size = 3 }, { op = \"jpeg\", quality = 75 }");
  cut.resolve({65'501, 3}, {}, geometry);
  CHECK_FALSE(geometry.beyond_jpeg);
}

TEST_CASE("a picture that is too long for a JPEG is a bad sample with a sentence", "[colour]") {
  const auto output = test::output_of("{ op = \"jpeg\", quality = 75 }, { op = \"center-crop\", size = 3 }");
  const media::Chain chain(output.ops, config::follow(output.ops, config::start_of(output.ops)), output.name);
  std::vector<uint8_t> tensor(27);
  const media::TensorOut out{.memory = tensor.data()};
  media::Workspace workspace;
  const auto run = [&](int width) {
    const auto png = test::make_png(width, 1).bytes;
    media::Field field{.bytes = png};
    media::Value value{.bytes = png};
    return chain.run(value, {1, Draws{}, workspace, &field, {&out, 1}});
  };
  CHECK(run(65'500));
  const Status refused = run(65'501);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kContent);
  CHECK(
      refused.error().message ==
      "the picture has 65501 x 1 pixels where `jpeg` stands: a JPEG has at most 65500 on a side, so put a resize or a "
      "crop before it");
}

TEST_CASE("colours are adjusted without an allocation in steady state", "[colour]") {
  const auto program = program_of(
      "{ op = \"random-resized-crop\", size = 64 }, { op = \"color-jitter\", brightness = 0.4, contrast = 0.4, "
      "saturation "
      "= 0.4, hue = 0.1 }, { op = \"grayscale\", p = 0.3 }, { op = \"gaussian-blur\", kernel_size = 9 }, { op = "
      "\"sharpness\", factor = 2 }, { op = \"equalize\" }, { op = \"autocontrast\" }, { op = \"gaussian-noise\" }, { "
      "op = "
      "\"gamma\", gamma = [0.5, 2] }, { op = \"channel-permutation\" }, { op = \"jpeg\", quality = [50, 90] }, { op = "
      "\"resize\", size = [50, 48] }");
  const PixelRows rows = noise({200, 150}, 5);
  Geometry geometry;
  image::Scratch scratch;
  std::vector<uint8_t> tensor(program.tensor().bytes());
  test::check_steady([&] {
    for (uint64_t sample = 0; sample < 20; ++sample) {
      program.resolve(rows.picture, {1, 1, sample}, geometry);
      program.render(rows, geometry, scratch, tensor.data());
    }
    return 0;
  });
}

}  // namespace
}  // namespace spdld::colour_test
