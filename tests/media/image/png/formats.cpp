// Every kind of PNG in every format of pixels that can be wanted, whole and in boxes, and masks' values as they are
// stored. tests/pixels/compare_formats.py holds the values of the whole pictures to a model.
#include <catch2/catch.hpp>

#include "tests/media/image/png/png_boxes.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::png_formats_test {
namespace {

using image::Colours;
using image::Pixels;

constexpr Pixels kAll[] = {{Colours::kRgb, 8},   {Colours::kRgb, 16}, {Colours::kGrey, 8},
                           {Colours::kGrey, 16}, {Colours::kRgba, 8}, {Colours::kRgba, 16}};

std::vector<uint8_t> bytes_in(const PixelRows& rows, const Box& box) {
  const auto pixel = static_cast<size_t>(rows.format.pixel_bytes());
  std::vector<uint8_t> bytes;
  for (int y = box.y; y < box.y + box.height; ++y) {
    const uint8_t* row = rows.row(y) + pixel * static_cast<size_t>(box.x - rows.covers.x);
    bytes.insert(bytes.end(), row, row + pixel * static_cast<size_t>(box.width));
  }
  return bytes;
}

int value_at(const PixelRows& rows, int x, int y) {
  const uint8_t* at = rows.row(y) + rows.format.pixel_bytes() * x;
  if (rows.format.sample_bytes == 1) return *at;
  uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

TEST_CASE("boxes of pictures in every format are the pixels of the whole, upright or turned", "[decode]") {
  auto decoder = image::make_png_decoder();
  PixelRows whole, some;
  std::mt19937 random(4);
  for (const auto& kind : test::kPngKinds) {
    for (const bool interlaced : {false, true}) {
      for (const int orientation : {1, 2, 6, 7}) {
        auto made = test::make_png(37, 23, {.colour = kind.colour, .depth = kind.depth, .interlaced = interlaced});
        test::insert_png_chunk(made.bytes, "IDAT", test::exif_png_chunk(orientation));
        for (const Pixels& pixels : kAll) {
          CAPTURE(kind.colour, kind.depth, interlaced, orientation, static_cast<int>(pixels.colours), pixels.bits);
          const auto size = decoder->open(made.bytes, true, false, pixels);
          REQUIRE(size);
          CHECK_FALSE(decoder->planes());
          REQUIRE(decoder->decode({0, 0, size->width, size->height}, whole));
          REQUIRE(whole.format == pixels.format());
          const Box box = test::draw_box(*size, random);
          REQUIRE(decoder->decode(box, some));
          REQUIRE(some.format == pixels.format());
          REQUIRE(bytes_in(some, box) == bytes_in(whole, box));
        }
      }
    }
  }
}

TEST_CASE("a mask's values are those that were stored", "[decode]") {
  auto decoder = image::make_png_decoder();
  PixelRows rows;
  int seen = 0;
  for (const auto& kind : test::kPngKinds) {
    if (kind.colour == 2 || kind.colour == 6) continue;
    for (const bool interlaced : {false, true}) {
      for (const int bits : {8, 16}) {
        if (kind.depth > bits) continue;
        for (const int width : {1, 2, 5, 8, 9, 31}) {
          CAPTURE(kind.colour, kind.depth, interlaced, bits, width);
          const auto made =
              test::make_png(width, 11, {.colour = kind.colour, .depth = kind.depth, .interlaced = interlaced});
          REQUIRE(decoder->open(made.bytes, true, false, {Colours::kStored, bits}));
          REQUIRE(decoder->decode({0, 0, width, 11}, rows));
          REQUIRE(rows.format == PixelFormat{1, bits / 8});
          for (int i = 0; i < 11 * width; ++i, ++seen)
            REQUIRE(value_at(rows, i % width, i / width) == made.first_samples[static_cast<size_t>(i)]);
        }
      }
    }
  }
  CHECK(seen > 10'000);
}

TEST_CASE("a picture that holds no mask's values is refused with what it is", "[decode]") {
  auto decoder = image::make_png_decoder();
  const auto sentence = [&](int colour, int depth, int bits) {
    const auto made = test::make_png(4, 4, {.colour = colour, .depth = depth});
    const auto opened = decoder->open(made.bytes, true, false, {Colours::kStored, bits});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().trouble == Trouble::kContent);
    return opened.error().message;
  };
  CHECK_THAT(sentence(2, 8, 8), Catch::Contains("of red, green and blue, where a mask's values are wanted"));
  CHECK_THAT(sentence(6, 16, 16), Catch::Contains("of red, green and blue, where a mask's values are wanted"));
  CHECK_THAT(sentence(0, 16, 8), Catch::Contains("of 16 bits, where a mask's values of 8 bits are wanted"));
}

TEST_CASE("a damaged tRNS chunk is damage only where alpha is wanted", "[decode]") {
  auto made = test::make_png(9, 9, {.colour = 3, .depth = 2});
  auto chunk = test::png_chunk("tRNS", std::vector<uint8_t>(3, 7));
  chunk.back() ^= 1;
  test::insert_png_chunk(made.bytes, "IDAT", chunk);
  auto decoder = image::make_png_decoder();
  PixelRows rows;
  for (const auto colours : {Colours::kRgb, Colours::kGrey, Colours::kRgba}) {
    REQUIRE(decoder->open(made.bytes, true, false, {colours, 8}));
    CHECK(bool(decoder->decode({0, 0, 9, 9}, rows)) == (colours != Colours::kRgba));
  }
}

TEST_CASE("a tRNS chunk of a wrong length makes nothing transparent", "[decode]") {
  auto made = test::make_png(9, 9, {.colour = 3, .depth = 2});
  test::insert_png_chunk(made.bytes, "IDAT", test::png_chunk("tRNS", std::vector<uint8_t>(5, 7)));
  auto decoder = image::make_png_decoder();
  PixelRows rows;
  REQUIRE(decoder->open(made.bytes, true, false, {Colours::kRgba, 8}));
  REQUIRE(decoder->decode({0, 0, 9, 9}, rows));
  for (int i = 0; i < 81; ++i) REQUIRE(rows.row(i / 9)[4 * (i % 9) + 3] == 255);
}

}  // namespace
}  // namespace spdld::png_formats_test
