#include "client/sheet/canvas.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "client/sheet/font.h"
#include "client/sheet/layout.h"

namespace spdld::sheet {
namespace {

constexpr Colour kRed{255, 0, 0}, kBlue{0, 0, 255}, kGrey{80, 80, 80};

int64_t count_of(const Canvas& canvas, Colour colour) {
  int64_t count = 0;
  for (int y = 0; y < canvas.height(); ++y)
    for (int x = 0; x < canvas.width(); ++x) count += canvas.at(x, y) == colour ? 1 : 0;
  return count;
}

TEST_CASE("what lies outside a canvas is left out", "[canvas]") {
  Canvas canvas(8, 6, kGrey);
  canvas.set(-1, 0, kRed);
  canvas.set(8, 0, kRed);
  canvas.fill(-5, -5, 2, 1, kRed);
  CHECK(count_of(canvas, kRed) == 2);
  canvas.frame(6, 4, 20, 20, 1, kBlue);
  CHECK(count_of(canvas, kBlue) == 3);
  canvas.write(-3, -3, "spdld", kBlue);
  canvas.dot(0, 0, 50, kRed);
  CHECK(count_of(canvas, kRed) == 8 * 6);
}

TEST_CASE("a frame has its edges at the given places", "[canvas]") {
  Canvas canvas(10, 10, kGrey);
  canvas.frame(2, 3, 8, 9, 2, kRed);
  CHECK(canvas.at(2, 3) == kRed);
  CHECK(canvas.at(3, 4) == kRed);
  CHECK(canvas.at(7, 8) == kRed);
  CHECK(canvas.at(4, 5) == kGrey);
  CHECK(canvas.at(1, 3) == kGrey);
  CHECK(canvas.at(8, 9) == kGrey);
  CHECK(count_of(canvas, kRed) == 6 * 6 - 2 * 2);
}

TEST_CASE("there are twelve colours for kinds of things, none of them twice and none of them dark", "[canvas]") {
  for (uint64_t i = 0; i < 12; ++i) {
    const Colour colour = colour_of(i);
    CHECK(std::max({colour.red, colour.green, colour.blue}) >= 200);
    CHECK(colour_of(i + 12) == colour);
    for (uint64_t k = 0; k < i; ++k) CHECK_FALSE(colour_of(k) == colour);
  }
}

TEST_CASE("a canvas has a bound", "[canvas]") {
  CHECK_THROWS_AS(Canvas(kSideMax + 1, 1), std::length_error);
  CHECK_THROWS_AS(Canvas(kSideMax, kSideMax), std::length_error);
  CHECK_THROWS_AS(Canvas(-1, 1), std::length_error);
  CHECK(Canvas(0, 5).width() == 0);
}

TEST_CASE("a picture of one colour stays so in any size", "[canvas]") {
  const Canvas flat(37, 21, Colour{12, 34, 56});
  for (const auto [width, height] : {Size{5, 3}, Size{37, 21}, Size{74, 42}, Size{100, 1}}) {
    const Canvas other = resized(flat, width, height);
    CHECK(other.width() == width);
    CHECK(count_of(other, Colour{12, 34, 56}) == int64_t{width} * height);
  }
}

TEST_CASE("a smaller picture has the mean of what each pixel covers", "[canvas]") {
  Canvas picture(4, 2, Colour{0, 0, 0});
  picture.set(0, 0, Colour{200, 100, 40});
  picture.set(3, 1, Colour{255, 255, 255});
  const Canvas half = resized(picture, 2, 1);
  CHECK(half.at(0, 0) == Colour{50, 25, 10});
  CHECK(half.at(1, 0) == Colour{64, 64, 64});
  CHECK(resized(picture, 8, 4).at(1, 1) == Colour{200, 100, 40});
  CHECK(resized(picture, 8, 4).at(2, 1) == Colour{0, 0, 0});
}

TEST_CASE("a picture fits into a square", "[canvas]") {
  const auto fits = [](int width, int height, int side, int to_width, int to_height) {
    const Size size = fitting(width, height, side);
    return size.width == to_width && size.height == to_height;
  };
  CHECK(fits(640, 480, 200, 200, 150));
  CHECK(fits(480, 640, 200, 150, 200));
  CHECK(fits(32, 16, 200, 192, 96));
  CHECK(fits(200, 200, 200, 200, 200));
  CHECK(fits(10'000, 1, 200, 200, 1));
}

TEST_CASE("characters are drawn, and others show as boxes", "[font]") {
  Canvas canvas(20, 9, kGrey);
  canvas.write(0, 0, "I", kRed);
  CHECK(canvas.at(1, 1) == kRed);
  CHECK(canvas.at(2, 4) == kRed);
  CHECK(canvas.at(0, 4) == kGrey);
  CHECK(count_of(canvas, kRed) == 3 + 5 + 3);
  CHECK(glyph_of(' ') == Glyph{});
  CHECK(glyph_of('\x1b') == glyph_of('\x7f'));
  CHECK(glyph_of('~') != glyph_of('\x7f'));
  CHECK(glyphs_of("a\u00e4\u20ac") == 3);
  Canvas box(20, 9, kGrey);
  box.write(0, 0, "\u20ac", kRed);
  CHECK(count_of(box, kRed) == 2 * 5 + 2 * 5);
}

TEST_CASE("a text is shortened between its characters", "[font]") {
  CHECK(shortened("bicycle", 7) == "bicycle");
  CHECK(shortened("bicycle", 5) == "bic..");
  CHECK(shortened("\u00e4\u00e4\u00e4\u00e4", 3) == "\u00e4..");
  CHECK(shortened("bicycle", 1) == ".");
  CHECK(shortened("bicycle", 0).empty());
}

TEST_CASE("a sheet has its cards side by side", "[layout]") {
  const Card card{"1", {{"before", Canvas(20, 20, kRed)}, {"image", Canvas(20, 10, kBlue)}}, {"label 1"}};
  const Canvas one = sheet_of({card}, {1, 2, 20}), three = sheet_of({card, card, card}, {2, 2, 20});
  CHECK(count_of(one, kRed) == 400);
  CHECK(count_of(three, kRed) == 3 * 400);
  CHECK(count_of(three, kBlue) == 3 * 200);
  CHECK(three.width() > one.width());
  CHECK(three.height() > one.height());
  CHECK(one.at(16, 16 + 2 * kGlyphHeight) == kRed);
  CHECK(one.at(16 + 24, 16 + 2 * kGlyphHeight) == kBlue);
  // Tiles that have no room beside each other stand below.
  CHECK(sheet_of({card}, {1, 1, 20}).at(16, 16 + 3 * kGlyphHeight + 24) == kBlue);
  CHECK(sheet_of({}, {3, 1, 20}).height() == 16);
}

TEST_CASE("tiles stand in a strip without words", "[layout]") {
  const std::vector<Tile> tiles = {
      {"a", Canvas(20, 10, kRed)}, {"b", Canvas(5, 20, kBlue)}, {"c", Canvas(20, 4, kRed)}};
  const Canvas strip = strip_of(tiles, {1, 2, 20});
  CHECK(strip.width() == 44);
  CHECK(strip.height() == 20 + 4 + 4 + 4);
  CHECK(strip.at(24, 19) == kBlue);
  CHECK(strip.at(0, 24) == kRed);
  CHECK(strip_of({}, {1, 2, 20}).height() == 0);
}

TEST_CASE("a border of one colour is cut off", "[canvas]") {
  Canvas picture(9, 7, kGrey);
  picture.fill(2, 3, 8, 5, kRed);
  picture.set(4, 4, kGrey);
  const Canvas part = trimmed(picture, kGrey);
  CHECK(part.width() == 6);
  CHECK(part.height() == 2);
  CHECK(part.at(2, 1) == kGrey);
  CHECK(part.at(5, 1) == kRed);
  CHECK(trimmed(Canvas(9, 7, kGrey), kGrey).width() == 9);
}

TEST_CASE("the tiles of a sheet fill its width", "[layout]") {
  for (const int columns : {1, 2, 5}) {
    for (const int across : {1, 2, 3}) {
      const int side = side_for(1200, columns, across);
      std::vector<Card> cards(static_cast<size_t>(columns));
      for (Card& card : cards) card.tiles.resize(static_cast<size_t>(across));
      CHECK(sheet_of(cards, {columns, across, side}).width() <= 1200);
      CHECK(sheet_of(cards, {columns, across, side + 1}).width() > 1200);
    }
  }
  CHECK(side_for(5, 3, 3) == 0);
}

}  // namespace
}  // namespace spdld::sheet
