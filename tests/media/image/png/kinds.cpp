// Every kind of PNG has the pixels that it must have, whole and in boxes.
#include <catch2/catch.hpp>

#include "tests/media/image/png/png_boxes.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::png_kinds_test {
namespace {

using test::PngOptions;

void check_boxes(image::ImageDecoder& decoder, int width, int height, const PngOptions& options, int boxes) {
  const test::MadePng made = test::make_png(width, height, options);
  const Size size{width, height};
  std::mt19937 random(options.seed);
  PixelRows rows;
  for (int i = 0; i <= boxes; ++i) {
    const auto opened = decoder.open(made.bytes, true, i % 2 == 1);
    if (!opened) FAIL(opened.error().message);
    REQUIRE(*opened == size);
    const Box box = i == 0 ? Box{0, 0, width, height} : test::draw_box(size, random);
    const Status decoded = decoder.decode(box, rows);
    if (!decoded) FAIL(decoded.error().message);
    REQUIRE(test::shows_box(rows, box, made.rgb, size));
  }
}

TEST_CASE("all colours and depths, interlaced or not, in the sizes that passes depend on", "[decode]") {
  auto decoder = image::make_png_decoder();
  for (const auto& kind : test::kPngKinds) {
    for (const bool interlaced : {false, true}) {
      CAPTURE(kind.colour, kind.depth, interlaced);
      PngOptions options{.colour = kind.colour, .depth = kind.depth, .interlaced = interlaced};
      for (int side = 1; side <= 9; ++side) {
        options.seed = static_cast<uint32_t>(side);
        check_boxes(*decoder, side, 10 - side, options, 3);
        check_boxes(*decoder, side, 1, options, 1);
        check_boxes(*decoder, 1, side, options, 1);
      }
      check_boxes(*decoder, 83, 57, options, 12);
    }
  }
}

TEST_CASE("each filter, and coded data in many chunks", "[decode]") {
  auto decoder = image::make_png_decoder();
  for (int filter = 0; filter < 5; ++filter) {
    for (const auto& kind : test::kPngKinds) {
      CAPTURE(filter, kind.colour, kind.depth);
      PngOptions options{.colour = kind.colour, .depth = kind.depth, .filter = filter};
      options.data_bytes_max = static_cast<size_t>(1 + 40 * filter);
      check_boxes(*decoder, 45, 31, options, 4);
    }
  }
  // More coded bytes than libspng reads at once, and chunks that hold nothing.
  check_boxes(*decoder, 300, 200, {}, 4);
  auto made = test::make_png(20, 20);
  test::insert_png_chunk(made.bytes, "IDAT", test::png_chunk("IDAT", {}));
  test::insert_png_chunk(made.bytes, "IEND", test::png_chunk("IDAT", {}));
  PixelRows rows;
  REQUIRE(decoder->open(made.bytes, true));
  REQUIRE(decoder->decode({0, 0, 20, 20}, rows));
  CHECK(test::shows_box(rows, {0, 0, 20, 20}, made.rgb, {20, 20}));
}

TEST_CASE("16 bits become their upper 8, and fewer bits are scaled to 8", "[decode]") {
  auto decoder = image::make_png_decoder();
  const auto pixels = [&](int colour, int depth) {
    const auto made = test::make_png(1, 1, {.colour = colour, .depth = depth, .flat = true});
    PixelRows rows;
    REQUIRE(decoder->open(made.bytes, true));
    REQUIRE(decoder->decode({0, 0, 1, 1}, rows));
    return std::vector<int>(rows.row(0), rows.row(0) + 3);
  };
  // Every sample is 1.
  CHECK(pixels(0, 1) == std::vector<int>{255, 255, 255});
  CHECK(pixels(0, 2) == std::vector<int>{85, 85, 85});
  CHECK(pixels(0, 4) == std::vector<int>{17, 17, 17});
  CHECK(pixels(0, 8) == std::vector<int>{1, 1, 1});
  CHECK(pixels(6, 16) == std::vector<int>{0, 0, 0});
}

TEST_CASE("transparency, gamma, a profile and texts change no pixel", "[decode]") {
  auto decoder = image::make_png_decoder();
  const std::vector<uint8_t> some(40, 1);
  for (const auto& kind : test::kPngKinds) {
    CAPTURE(kind.colour, kind.depth);
    auto made = test::make_png(33, 21, {.colour = kind.colour, .depth = kind.depth});
    for (const char* type : {"gAMA", "sBIT", "iCCP", "cHRM", "sRGB", "tEXt", "zTXt", "iTXt", "acTL", "fcTL", "zzZz"}) {
      test::insert_png_chunk(made.bytes, kind.colour == 3 ? "PLTE" : "IDAT", test::png_chunk(type, some));
    }
    for (const char* type : {"tRNS", "bKGD", "hIST", "sPLT"}) {
      test::insert_png_chunk(made.bytes, "IDAT", test::png_chunk(type, some));
    }
    for (const char* type : {"fcTL", "fdAT", "tIME", "tEXt"}) {
      test::insert_png_chunk(made.bytes, "IEND", test::png_chunk(type, some));
    }
    PixelRows rows;
    REQUIRE(decoder->open(made.bytes, true, true));
    REQUIRE(decoder->decode({0, 0, 33, 21}, rows));
    CHECK(test::shows_box(rows, {0, 0, 33, 21}, made.rgb, {33, 21}));
    CHECK_FALSE(decoder->planes());
  }
}

TEST_CASE("palette entries that are missing are black", "[decode]") {
  auto made = test::make_png(64, 64, {.colour = 3, .depth = 8});
  const size_t palette = test::find_png_chunk(made.bytes, "PLTE"), data = test::find_png_chunk(made.bytes, "IDAT");
  const std::vector<uint8_t> first(made.bytes.begin() + static_cast<ptrdiff_t>(palette) + 8,
                                   made.bytes.begin() + static_cast<ptrdiff_t>(palette) + 8 + 3);
  made.bytes.erase(made.bytes.begin() + static_cast<ptrdiff_t>(palette),
                   made.bytes.begin() + static_cast<ptrdiff_t>(data));
  test::insert_png_chunk(made.bytes, "IDAT", test::png_chunk("PLTE", first));
  auto decoder = image::make_png_decoder();
  PixelRows rows;
  REQUIRE(decoder->open(made.bytes, true));
  REQUIRE(decoder->decode({0, 0, 64, 64}, rows));
  int black = 0;
  for (int i = 0; i < 64 * 64; ++i) {
    const uint8_t* pixel = rows.row(i / 64) + 3 * (i % 64);
    const bool is_first = std::memcmp(pixel, first.data(), 3) == 0;
    black += pixel[0] == 0 && pixel[1] == 0 && pixel[2] == 0;
    REQUIRE(is_first == (std::memcmp(made.rgb.data() + 3 * i, first.data(), 3) == 0));
  }
  CHECK(black > 3000);
}

}  // namespace
}  // namespace spdld::png_kinds_test
