// The eXIf chunk turns a PNG as EXIF turns a JPEG.
#include <catch2/catch.hpp>

#include "tests/media/image/png/png_boxes.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::png_exif_test {
namespace {

constexpr Size kStored{31, 19};

// The upright picture; after the figure in JEITA CP-3451, tag 0x0112.
std::vector<uint8_t> turned(const std::vector<uint8_t>& rgb, int orientation) {
  const bool swapped = orientation >= 5;
  const int width = swapped ? kStored.height : kStored.width, height = swapped ? kStored.width : kStored.height;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  std::vector<uint8_t> upright;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int u = swapped ? y : x, v = swapped ? x : y;
      if (from_right) u = kStored.width - 1 - u;
      if (from_bottom) v = kStored.height - 1 - v;
      const auto pixel = rgb.begin() + 3 * (v * kStored.width + u);
      upright.insert(upright.end(), pixel, pixel + 3);
    }
  }
  return upright;
}

TEST_CASE("all orientations of an eXIf chunk, wherever it stands", "[decode]") {
  auto decoder = image::make_png_decoder();
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (int form = 0; form < 8; ++form) {
      CAPTURE(orientation, form);
      auto made = test::make_png(kStored.width, kStored.height, {.interlaced = (form & 1) != 0});
      test::insert_png_chunk(made.bytes, (form & 1) != 0 ? "IEND" : "IDAT",
                             test::exif_png_chunk(orientation, (form & 2) != 0, (form & 4) != 0));
      const auto upright = turned(made.rgb, orientation);
      const auto size = decoder->open(made.bytes, true);
      REQUIRE(size);
      CHECK(*size == (orientation >= 5 ? Size{kStored.height, kStored.width} : kStored));
      std::mt19937 random(static_cast<unsigned>(orientation));
      PixelRows rows;
      for (int i = 0; i < 12; ++i) {
        const Box box = i == 0 ? Box{0, 0, size->width, size->height} : test::draw_box(*size, random);
        REQUIRE(decoder->decode(box, rows));
        REQUIRE(test::shows_box(rows, box, upright, *size));
      }
      REQUIRE(decoder->open(made.bytes, false));
      REQUIRE(decoder->decode({0, 0, kStored.width, kStored.height}, rows));
      CHECK(test::shows_box(rows, {0, 0, kStored.width, kStored.height}, made.rgb, kStored));
    }
  }
}

TEST_CASE("the last eXIf chunk counts, and a damaged one counts as upright", "[decode]") {
  auto decoder = image::make_png_decoder();
  const auto size_with = [&](const std::vector<std::vector<uint8_t>>& chunks) {
    auto made = test::make_png(kStored.width, kStored.height);
    for (const auto& chunk : chunks) test::insert_png_chunk(made.bytes, "IDAT", chunk);
    const auto size = decoder->open(made.bytes, true);
    REQUIRE(size);
    return *size;
  };
  const Size swapped{kStored.height, kStored.width};
  CHECK(size_with({test::exif_png_chunk(6), test::exif_png_chunk(1)}) == kStored);
  CHECK(size_with({test::exif_png_chunk(1), test::exif_png_chunk(6)}) == swapped);
  auto damaged = test::exif_png_chunk(6);
  damaged.back() ^= 1;
  CHECK(size_with({damaged}) == kStored);
  CHECK(size_with({test::png_chunk("eXIf", {})}) == kStored);
}

}  // namespace
}  // namespace spdld::png_exif_test
