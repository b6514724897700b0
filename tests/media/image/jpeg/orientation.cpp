// EXIF orientations, and colours other than YCbCr.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/jpeg/exif.h"
#include "daemon/media/image/codecs/tiff.h"
#include "tests/support/makers/jpeg_maker.h"

namespace spdld {
namespace {

// The stored pixel that the upright picture shows at (x, y); after the figure in JEITA CP-3451, tag 0x0112.
std::array<int, 2> stored_place(int x, int y, const Size& stored, int orientation) {
  const int right = stored.width - 1, bottom = stored.height - 1;
  switch (orientation) {
    case 2:
      return {right - x, y};
    case 3:
      return {right - x, bottom - y};
    case 4:
      return {x, bottom - y};
    case 5:
      return {y, x};
    case 6:
      return {y, bottom - x};
    case 7:
      return {right - y, bottom - x};
    case 8:
      return {right - y, x};
    default:
      return {x, y};
  }
}

bool shows(const PixelRows& rows, const Box& box, const std::vector<uint8_t>& whole, const Size& stored,
           int orientation) {
  for (int y = box.y; y < box.y + box.height; ++y) {
    for (int x = box.x; x < box.x + box.width; ++x) {
      const auto [u, v] = stored_place(x, y, stored, orientation);
      const size_t at = 3 * (static_cast<size_t>(v) * static_cast<size_t>(stored.width) + static_cast<size_t>(u));
      if (std::memcmp(rows.row(y) + 3 * (x - rows.covers.x), whole.data() + at, 3) != 0) return false;
    }
  }
  return true;
}

TEST_CASE("all orientations, whole and in boxes", "[decode]") {
  const int orientation = GENERATE(range(0, 9));
  const bool big_endian = GENERATE(false, true);
  test::JpegOptions options;
  options.exif_orientation = orientation;
  options.exif_big_endian = big_endian;
  options.seed = 40 + static_cast<uint32_t>(orientation);
  CAPTURE(orientation, big_endian);
  const auto jpeg = test::make_jpeg(75, 101, options);
  Size stored;
  const auto whole = test::decode_plainly(jpeg, stored.width, stored.height);
  auto decoder = image::make_jpeg_decoder();
  const auto size = decoder->open(jpeg, true);
  REQUIRE(size);
  CHECK(*size == (orientation >= 5 ? Size{101, 75} : Size{75, 101}));
  PixelRows rows;
  std::mt19937 random(1);
  for (int i = 0; i < 30; ++i) {
    Box box{0, 0, size->width, size->height};
    if (i > 0) {
      box.width = 1 + static_cast<int>(random() % static_cast<unsigned>(size->width));
      box.height = 1 + static_cast<int>(random() % static_cast<unsigned>(size->height));
      box.x = static_cast<int>(random() % static_cast<unsigned>(size->width - box.width + 1));
      box.y = static_cast<int>(random() % static_cast<unsigned>(size->height - box.height + 1));
    }
    REQUIRE(decoder->decode(box, rows));
    REQUIRE(rows.picture == *size);
    REQUIRE(shows(rows, box, whole, stored, orientation));
  }
  const auto as_stored = decoder->open(jpeg, false);
  REQUIRE(as_stored);
  CHECK(*as_stored == Size{75, 101});
  REQUIRE(decoder->decode({0, 0, 75, 101}, rows));
  CHECK(shows(rows, {0, 0, 75, 101}, whole, stored, 1));
}

TEST_CASE("an EXIF block that is damaged counts as upright", "[decode]") {
  using image::tiff_orientation;
  const std::vector<uint8_t> good = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  REQUIRE(tiff_orientation(good) == 6);
  for (size_t size = 0; size < good.size(); ++size) CHECK(tiff_orientation({good.data(), size}).value_or(1) == 1);
  for (size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      auto bad = good;
      bad[i] = static_cast<uint8_t>(value);
      const int orientation = tiff_orientation(bad).value_or(1);
      if (orientation < 1 || orientation > 8) FAIL("orientation " << orientation);
    }
  }
  auto far = good;  // a directory beyond 4 GiB - 1
  std::fill(far.begin() + 4, far.begin() + 8, uint8_t{0xFF});
  CHECK_FALSE(tiff_orientation(far));
}

// A TIFF block with the orientation alone, written as cameras and programs write it: as a SHORT in the first two bytes
// of the value's four, or as a LONG in all four.
std::vector<uint8_t> make_tiff(bool big_endian, uint32_t type, uint32_t value) {
  std::vector<uint8_t> tiff = {uint8_t{'I'}, uint8_t{'I'}};
  if (big_endian) tiff = {uint8_t{'M'}, uint8_t{'M'}};
  const auto add = [&](uint32_t number, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      tiff.push_back(static_cast<uint8_t>(number >> (8 * (big_endian ? bytes - 1 - i : i))));
  };
  add(42, 2), add(8, 4), add(1, 2), add(0x0112, 2), add(type, 2), add(1, 4);
  add(value, type == 3 ? 2 : 4);
  tiff.resize(22);
  return tiff;
}

TEST_CASE("an orientation is read as SHORT and as LONG, in both byte orders", "[decode]") {
  constexpr uint32_t kShort = 3, kLong = 4;
  const bool big_endian = GENERATE(false, true);
  for (uint32_t value = 1; value <= 8; ++value) {
    CAPTURE(big_endian, value);
    CHECK(image::tiff_orientation(make_tiff(big_endian, kShort, value)) == static_cast<int>(value));
    CHECK(image::tiff_orientation(make_tiff(big_endian, kLong, value)) == static_cast<int>(value));
    // All four bytes of a LONG count, and no more than two of a SHORT.
    CHECK(image::tiff_orientation(make_tiff(big_endian, kLong, 0x10000 + value)) == 1);
    CHECK(image::tiff_orientation(make_tiff(big_endian, kLong, value << 16)) == 1);
    auto followed = make_tiff(big_endian, kShort, value);
    followed[20] = followed[21] = 0xFF;
    CHECK(image::tiff_orientation(followed) == static_cast<int>(value));
    // A signed LONG, and the offset of a directory, are numbers as well; BYTE, ASCII and bytes without a meaning are
    // not.
    for (const uint32_t number_type : {9u, 13u})
      CHECK(image::tiff_orientation(make_tiff(big_endian, number_type, value)) == static_cast<int>(value));
    for (const uint32_t other_type : {1u, 2u, 7u, 12u})
      CHECK(image::tiff_orientation(make_tiff(big_endian, other_type, value)) == 1);
    CHECK_FALSE(image::tiff_orientation(make_tiff(big_endian, 14, value)));
  }
}

TEST_CASE("the EXIF segment is found behind others, and not behind the scan", "[decode]") {
  test::JpegOptions options;
  options.exif_orientation = 6;
  auto jpeg = test::make_jpeg(16, 16, options);
  CHECK(image::exif_orientation(jpeg) == 6);
  const std::vector<uint8_t> comment = {0xFF, 0xFE, 0, 6, 1, 2, 3, 4};
  jpeg.insert(jpeg.begin() + 2, comment.begin(), comment.end());
  CHECK(image::exif_orientation(jpeg) == 6);
  // XMP stands in the same kind of segment, and an application's own may be shorter than any name.
  for (const std::vector<uint8_t>& other :
       {std::vector<uint8_t>{0xFF, 0xE1, 0, 11, 'h', 't', 't', 'p', ':', '/', '/', 'n', 's'},
        {0xFF, 0xE1, 0, 3, 'E'}}) {
    auto with_other = jpeg;
    with_other.insert(with_other.begin() + 2, other.begin(), other.end());
    CHECK(image::exif_orientation(with_other) == 6);
  }
  jpeg[4] = 0xFF, jpeg[5] = 0xFF;  // a length that reaches behind the end
  CHECK(image::exif_orientation(jpeg) == 1);
}

TEST_CASE("grey becomes RGB", "[decode]") {
  test::JpegOptions options;
  options.grey = true;
  const auto jpeg = test::make_jpeg(33, 21, options);
  auto decoder = image::make_jpeg_decoder();
  REQUIRE(decoder->open(jpeg, true));
  PixelRows rows;
  REQUIRE(decoder->decode({0, 0, 33, 21}, rows));
  for (int x = 0; x < 33; ++x) {
    const uint8_t* pixel = rows.row(11) + 3 * x;
    REQUIRE(pixel[0] == pixel[1]);
    REQUIRE(pixel[1] == pixel[2]);
  }
}

TEST_CASE("CMYK as Adobe stores it becomes RGB", "[decode]") {
  test::JpegOptions options;
  options.cmyk = true;
  const auto jpeg = test::make_jpeg(61, 47, options);
  Size size;
  const auto inks = test::decode_plainly(jpeg, size.width, size.height);
  auto decoder = image::make_jpeg_decoder();
  REQUIRE(decoder->open(jpeg, true));
  PixelRows rows;
  REQUIRE(decoder->decode({5, 7, 50, 30}, rows));
  int farthest = 0;
  for (int y = 7; y < 37; ++y) {
    for (int x = 5; x < 55; ++x) {
      const uint8_t* ink = inks.data() + 4 * (y * 61 + x);
      for (int c = 0; c < 3; ++c) {
        const int exact = static_cast<int>(ink[c] * ink[3] / 255.0 + 0.5);
        farthest = std::max(farthest, std::abs(rows.row(y)[3 * (x - rows.covers.x) + c] - exact));
      }
    }
  }
  CHECK(farthest <= 1);
}

}  // namespace
}  // namespace spdld
