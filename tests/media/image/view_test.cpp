// The geometry of a picture, applied to masks, boxes and points: beside a model that does the operations one by one.
#include "daemon/media/image/geometry/view.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/support/image_programs.h"

namespace spdld::view_test {
namespace {

using image::Corners;
using image::Geometry;
using image::Pass;

Geometry resolved(const std::string& ops, const Size& picture) {
  Geometry geometry;
  test::program_of(ops).resolve(picture, {}, geometry);
  return geometry;
}

// An operation of a chain, as text and as what it does to columns. The model works on columns alone: rows are alike.
struct Step {
  enum class What : uint8_t { kResize, kCrop, kFlip } what;
  int width;
  std::string text() const {
    if (what == What::kFlip) return "{ op = \"horizontal-flip\", p = 1 }";
    return std::string("{ op = \"") + (what == What::kCrop ? "center-crop" : "resize") + "\", size = [8, " +
           std::to_string(width) + "] }";
  }
};

// torchvision's place of a crop: a smaller picture is padded on both sides first.
int crop_start(int side, int wanted) {
  return wanted > side ? -((wanted - side) / 2) : static_cast<int>(std::nearbyint((side - wanted) / 2.0));
}

std::vector<int32_t> done(const Step& step, const std::vector<int32_t>& columns) {
  const int side = static_cast<int>(columns.size());
  if (step.what == Step::What::kFlip) return {columns.rbegin(), columns.rend()};
  std::vector<int32_t> next;
  const int start = crop_start(side, step.width);
  const float scale = static_cast<float>(side) / static_cast<float>(step.width);
  for (int i = 0; i < step.width; ++i) {
    const int from = step.what == Step::What::kCrop
                         ? start + i
                         : std::min(static_cast<int>(static_cast<float>(i) * scale), side - 1);
    next.push_back(from < 0 || from >= side ? image::kOutside : columns[static_cast<size_t>(from)]);
  }
  return next;
}

// The float32 steps of torchvision's kernels for boxes.
void move(const Step& step, int side, float& x1, float& x2) {
  const auto width = static_cast<float>(step.width);
  if (step.what == Step::What::kFlip) {
    const float right = static_cast<float>(side) - x1;
    x1 = static_cast<float>(side) - x2, x2 = right;
  } else if (step.what == Step::What::kResize) {
    const auto ratio = static_cast<float>(static_cast<double>(step.width) / side);
    x1 *= ratio, x2 *= ratio;
  } else {
    const auto start = static_cast<float>(crop_start(side, step.width));
    x1 = std::clamp(x1 - start, 0.0F, width), x2 = std::clamp(x2 - start, 0.0F, width);
  }
}

std::vector<Step> random_steps(std::mt19937& random, bool pads, int side) {
  std::vector<Step> steps(1 + random() % 5);
  for (Step& step : steps) {
    step.what = static_cast<Step::What>(random() % 3);
    step.width = 1 + static_cast<int>(random() % 90);
    if (step.what == Step::What::kCrop && !pads)
      step.width = 1 + static_cast<int>(random() % static_cast<uint32_t>(side));
    if (step.what != Step::What::kFlip) side = step.width;
  }
  return steps;
}

std::string texts_of(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) text += step.text() + ", ";
  return text + "{ op = \"resize\", size = [8, 12] }";
}

TEST_CASE("a mask's pixels are those of nearest steps done one by one", "[view]") {
  std::mt19937 random(5);
  int outside = 0;
  for (int round = 0; round < 400; ++round) {
    const int side = 1 + static_cast<int>(random() % 90);
    std::vector<Step> steps = random_steps(random, true, side);
    const Geometry geometry = resolved(texts_of(steps), {side, 8});
    steps.push_back({Step::What::kResize, 12});
    std::vector<int32_t> expected(static_cast<size_t>(side));
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int32_t>(i);
    for (const Step& step : steps)
      if (step.what != Step::What::kResize || step.width != static_cast<int>(expected.size()))
        expected = done(step, expected);
    std::vector<int32_t> columns;
    image::nearest(geometry.passes, true, columns);
    INFO(texts_of(steps) << " of " << side);
    REQUIRE(columns == expected);
    outside += static_cast<int>(std::count(columns.begin(), columns.end(), image::kOutside));
  }
  CHECK(outside > 100);
}

// torch's interpolate(mode = "nearest") computes in float32, which here is not the floor of the exact quotient.
TEST_CASE("nearest has torch's roundings", "[view]") {
  const auto column = [](int from, int to, size_t i) {
    std::vector<int32_t> columns;
    image::nearest(resolved("{ op = \"resize\", size = [8, " + std::to_string(to) + "] }", {from, 8}).passes, true,
                   columns);
    return columns.at(i);
  };
  CHECK(column(62, 224, 112) == 30);
  CHECK(column(76, 224, 168) == 56);
  CHECK(column(84, 100, 75) == 62);
  CHECK(column(10, 7, 3) == 4);
  CHECK(column(7, 16, 15) == 6);
}

TEST_CASE("rows are not mirrored", "[view]") {
  std::vector<int32_t> rows;
  image::nearest(resolved("{ op = \"horizontal-flip\", p = 1 }, { op = \"resize\", size = [2, 8] }", {8, 4}).passes,
                 false, rows);
  CHECK(rows == std::vector<int32_t>{0, 2});
}

TEST_CASE("boxes move as torchvision's steps move them", "[view]") {
  std::mt19937 random(6);
  std::uniform_real_distribution<float> anywhere(-20, 120);
  for (int round = 0; round < 400; ++round) {
    const int side = 1 + static_cast<int>(random() % 90);
    std::vector<Step> steps = random_steps(random, false, side);
    const Geometry geometry = resolved(texts_of(steps), {side, 8});
    float x1 = anywhere(random), x2 = anywhere(random);
    if (x2 < x1) std::swap(x1, x2);
    const Corners box = image::seen(geometry.passes, {x1, 2, x2, 3});
    int now = side;
    steps.push_back({Step::What::kResize, 12});
    for (const Step& step : steps) {
      move(step, now, x1, x2);
      if (step.what != Step::What::kFlip) now = step.width;
    }
    INFO(texts_of(steps) << " of " << side);
    REQUIRE(box.x1 == Approx(std::clamp(x1, 0.0F, 12.0F)).margin(1e-4));
    REQUIRE(box.x2 == Approx(std::clamp(x2, 0.0F, 12.0F)).margin(1e-4));
  }
}

// The same steps, of rows.
std::string turned_texts_of(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    if (step.what == Step::What::kFlip) {
      text += "{ op = \"vertical-flip\", p = 1 }, ";
      continue;
    }
    text += std::string("{ op = \"") + (step.what == Step::What::kCrop ? "center-crop" : "resize") + "\", size = [" +
            std::to_string(step.width) + ", 8] }, ";
  }
  return text + "{ op = \"resize\", size = [12, 8] }";
}

TEST_CASE("rows of flipped pictures are as columns of mirrored ones", "[view]") {
  std::mt19937 random(8);
  std::uniform_real_distribution<float> anywhere(-20, 120);
  for (int round = 0; round < 300; ++round) {
    const int side = 1 + static_cast<int>(random() % 90);
    const std::vector<Step> steps = random_steps(random, true, side);
    const Geometry across = resolved(texts_of(steps), {side, 8}), down = resolved(turned_texts_of(steps), {8, side});
    std::vector<int32_t> columns, rows;
    image::nearest(across.passes, true, columns);
    image::nearest(down.passes, false, rows);
    INFO(turned_texts_of(steps) << " of " << side);
    REQUIRE(columns == rows);
    float x1 = anywhere(random), x2 = anywhere(random);
    if (x2 < x1) std::swap(x1, x2);
    const Corners wide = image::seen(across.passes, {x1, 2, x2, 3}), high = image::seen(down.passes, {2, x1, 3, x2});
    REQUIRE((wide.x1 == high.y1 && wide.x2 == high.y2 && wide.y1 == high.x1 && wide.y2 == high.x2));
    const image::SeenPoint left = image::seen(across.passes, x1, 2), top = image::seen(down.passes, 2, x1);
    REQUIRE((left.x == top.y && left.y == top.x && left.is_inside == top.is_inside));
  }
}

TEST_CASE("a box outside of the picture has no area, however far away it is", "[view]") {
  const auto geometry =
      resolved("{ op = \"center-crop\", size = [8, 40] }, { op = \"resize\", size = [16, 20] }", {20, 8});
  const Corners far = image::seen(geometry.passes, {1e9F, 1e9F, 2e9F, 2e9F});
  CHECK(far.x1 == far.x2);
  CHECK(far.y1 == far.y2);
  const Corners huge = image::seen(geometry.passes, {-1e30F, -1e30F, 1e30F, 1e30F});
  CHECK(huge.x1 == 5);  // the picture lies in the middle of the padded crop
  CHECK(huge.x2 == 15);
  CHECK(huge.y2 == 16);
}

TEST_CASE("points know whether they are seen", "[view]") {
  const auto geometry = resolved(
      "{ op = \"center-crop\", size = [4, 10] }, { op = \"horizontal-flip\", p = 1 }, { op = \"resize\", size = [8, "
      "20] }",
      {20, 8});
  const auto point = [&](float x, float y) { return image::seen(geometry.passes, x, y); };
  CHECK(point(5, 2).is_inside);
  CHECK(point(5, 2).x == 20);
  CHECK(point(5, 2).y == 0);
  CHECK(point(14.5F, 5.5F).x == 1);
  CHECK(point(14.5F, 5.5F).y == 7);
  CHECK_FALSE(point(15, 2).is_inside);
  CHECK(point(15, 2).x == 0);
  CHECK_FALSE(point(4.9F, 2).is_inside);
  CHECK_FALSE(point(5, 1.9F).is_inside);
  CHECK_FALSE(point(5, 6).is_inside);
  // What a crop has cut off does not come back in the black border of another one.
  const auto padded = resolved(
      "{ op = \"center-crop\", size = [8, 4] }, { op = \"resize\", size = [8, 5] }, "
      "{ op = \"center-crop\", size = [8, 40] }",
      {20, 8});
  CHECK_FALSE(image::seen(padded.passes, 3, 2).is_inside);
  CHECK(image::seen(padded.passes, 9, 2).is_inside);
}

TEST_CASE("formats of boxes", "[view]") {
  using image::BoxFormat;
  const float numbers[4] = {10, 20, 30, 60};
  const auto is = [](const Corners& box, float x1, float y1, float x2, float y2) {
    return box.x1 == x1 && box.y1 == y1 && box.x2 == x2 && box.y2 == y2;
  };
  CHECK(is(corners_of(BoxFormat::kXyxy, numbers), 10, 20, 30, 60));
  CHECK(is(corners_of(BoxFormat::kXywh, numbers), 10, 20, 40, 80));
  CHECK(is(corners_of(BoxFormat::kCxcywh, numbers), -5, -10, 25, 50));
  for (const char* name : {"xyxy", "xywh", "cxcywh"}) {
    const BoxFormat format = image::box_format_named(name);
    float back[4];
    write_box(format, corners_of(format, numbers), back);
    for (size_t i = 0; i < 4; ++i) CHECK(back[i] == numbers[i]);
  }
  CHECK_THROWS_AS(image::box_format_named("yxyx"), std::logic_error);
}

}  // namespace
}  // namespace spdld::view_test
