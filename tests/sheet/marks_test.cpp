#include "client/sheet/marks.h"

#include <catch2/catch.hpp>
#include <limits>

namespace spdld::sheet {
namespace {

constexpr Colour kPlain{100, 100, 100}, kMark{255, 0, 0}, kOther{0, 255, 0};

TEST_CASE("a box lies at its place in a picture of any size", "[marks]") {
  const Canvas picture(100, 50, kPlain);
  Marks marks;
  marks.boxes.push_back({10, 20, 40, 45, kMark});
  const Canvas same = drawn(picture, marks, 100);
  CHECK(same.at(10, 20) == kMark);
  CHECK(same.at(39, 44) == kMark);
  CHECK(same.at(11, 21) == kPlain);
  CHECK(same.at(40, 30) == kPlain);
  CHECK(same.at(9, 30) == kPlain);
  const Canvas half = drawn(picture, marks, 50);
  CHECK(half.width() == 50);
  CHECK(half.at(5, 10) == kMark);
  CHECK(half.at(19, 15) == kMark);
  CHECK(half.at(6, 11) == kPlain);
  const Canvas twice = drawn(picture, marks, 200);
  CHECK(twice.at(20, 40) == kMark);
  CHECK(twice.at(21, 41) == kMark);  // a large picture has wider frames
  CHECK(twice.at(22, 42) == kPlain);
  const Canvas tall = drawn(Canvas(50, 100, kPlain), marks, 200);
  CHECK(tall.width() == 100);
  CHECK(tall.at(21, 41) == kMark);  // large by its height alone
}

TEST_CASE("boxes that are far away or no numbers harm nothing", "[marks]") {
  const Canvas picture(20, 20, kPlain);
  const double none = std::numeric_limits<double>::quiet_NaN(), endless = std::numeric_limits<double>::infinity();
  Marks marks;
  marks.boxes = {
      {none, none, none, none, kMark, "?"}, {-endless, -endless, endless, endless, kMark}, {1e300, 0, 1e301, 5, kMark}};
  marks.dots = {{none, 1, kMark}, {endless, endless, kMark}};
  const Canvas canvas = drawn(picture, marks, 20);
  CHECK(canvas.width() == 20);
  CHECK(canvas.at(15, 15) == kPlain);
}

TEST_CASE("a box has its label above it, or inside where there is no room", "[marks]") {
  const Canvas picture(60, 60, kPlain);
  Marks marks;
  marks.boxes.push_back({5, 30, 50, 50, kMark, "ab"});
  CHECK(drawn(picture, marks, 60).at(5, 30 - kGlyphHeight) == kMark);
  CHECK(drawn(picture, marks, 60).at(5 + 2 * kGlyphWidth + 1, 30 - kGlyphHeight) == kPlain);
  marks.boxes[0].top = 2;
  CHECK(drawn(picture, marks, 60).at(5, 2 + kGlyphHeight - 1) == kMark);
}

TEST_CASE("a mask tints what it covers, with a stronger edge", "[marks]") {
  const Canvas picture(8, 8, kPlain);
  Mask mask{8, 8, std::vector<uint32_t>(64), {kMark, kOther}};
  for (size_t y = 2; y < 6; ++y)
    for (size_t x = 2; x < 6; ++x) mask.values[y * 8 + x] = 1;
  mask.values[7 * 8 + 7] = 2;
  mask.values[7 * 8] = 3;  // the colours begin anew
  Marks marks;
  marks.masks.push_back(mask);
  const Canvas canvas = drawn(picture, marks, 8);
  CHECK(canvas.at(1, 1) == kPlain);
  CHECK(canvas.at(3, 3) == mixed(kPlain, kMark, 0.45));
  CHECK(canvas.at(2, 2) == mixed(kPlain, kMark, 0.9));
  CHECK(canvas.at(7, 7) == mixed(kPlain, kOther, 0.9));
  CHECK(canvas.at(0, 7) == mixed(kPlain, kMark, 0.9));
  // A mask of another size covers the same part of the picture.
  marks.masks[0] = {2, 2, {0, 1, 0, 0}, {kOther}};
  CHECK(drawn(picture, marks, 16).at(10, 4) == mixed(kPlain, kOther, 0.45));
  CHECK(drawn(picture, marks, 16).at(4, 4) == kPlain);
}

TEST_CASE("dots lie above boxes and masks", "[marks]") {
  Marks marks;
  marks.boxes.push_back({0, 0, 10, 10, kMark});
  marks.dots.push_back({5, 0, kOther});
  CHECK(drawn(Canvas(10, 10, kPlain), marks, 10).at(5, 0) == kOther);
}

}  // namespace
}  // namespace spdld::sheet
