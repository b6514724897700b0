// A decoding of a box gives the very pixels of a decoding of the whole picture.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"

namespace spdld {
namespace {

using test::JpegOptions;
using test::Subsampling;

bool same_pixels(const PixelRows& rows, const Box& box, const std::vector<uint8_t>& whole, int width) {
  for (int y = box.y; y < box.y + box.height; ++y) {
    const uint8_t* expected =
        whole.data() + 3 * (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(box.x));
    if (std::memcmp(rows.row(y) + 3 * (box.x - rows.covers.x), expected, 3 * static_cast<size_t>(box.width)) != 0)
      return false;
  }
  return true;
}

Box random_box(std::mt19937& random, int width, int height) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  Box box;
  box.width = 1 + below(width);
  box.height = 1 + below(height);
  if (random() % 4 == 0) box.width = std::min(width, 1 + below(4));  // slivers
  if (random() % 4 == 0) box.height = std::min(height, 1 + below(4));
  box.x = below(width - box.width + 1);
  box.y = below(height - box.height + 1);
  return box;
}

// Counts the boxes whose pixels differ.
int differing_boxes(image::ImageDecoder& decoder, const std::vector<uint8_t>& jpeg, std::mt19937& random, int boxes) {
  int width = 0, height = 0, differing = 0;
  const auto whole = test::decode_plainly(jpeg, width, height);
  auto size = decoder.open(jpeg, true);
  if (whole.empty() || !size || *size != Size{width, height}) return boxes;
  PixelRows rows;
  for (int i = 0; i < boxes; ++i) {
    const Box box = i == 0 ? Box{0, 0, width, height} : random_box(random, width, height);
    const auto status = decoder.decode(box, rows);
    const bool covers = rows.covers.x <= box.x && rows.covers.y <= box.y &&
                        rows.covers.x + rows.covers.width >= box.x + box.width &&
                        rows.covers.y + rows.covers.height >= box.y + box.height;
    if (!status || !covers || !same_pixels(rows, box, whole, width)) {
      ++differing;
      UNSCOPED_INFO("box " << box.x << "," << box.y << " " << box.width << "x" << box.height << " of " << width << "x"
                           << height);
    }
  }
  return differing;
}

TEST_CASE("a box has the pixels of the whole picture's decoding", "[decode]") {
  const auto subsampling =
      GENERATE(Subsampling::k444, Subsampling::k422, Subsampling::k420, Subsampling::k440, Subsampling::k411);
  const int kind = GENERATE(range(0, test::kCodings));
  JpegOptions options = test::coded(kind, subsampling);
  CAPTURE(static_cast<int>(subsampling), kind);
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(static_cast<unsigned>(kind) * 10 + static_cast<unsigned>(subsampling));
  for (int picture = 0; picture < 12; ++picture) {
    options.seed = static_cast<uint32_t>(picture);
    options.quality = 20 + static_cast<int>(random() % 80);
    const int width = 1 + static_cast<int>(random() % 150), height = 1 + static_cast<int>(random() % 150);
    const auto jpeg = test::make_jpeg(width, height, options);
    REQUIRE(differing_boxes(*decoder, jpeg, random, 25) == 0);
  }
}

TEST_CASE("tiny and thin pictures", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(3);
  for (const auto subsampling : {Subsampling::k444, Subsampling::k422, Subsampling::k420, Subsampling::k440}) {
    for (const Size size :
         {Size{1, 1}, {1, 40}, {40, 1}, {2, 2}, {3, 5}, {8, 8}, {16, 16}, {17, 17}, {33, 2}, {2, 33}, {700, 3}}) {
      JpegOptions options;
      options.subsampling = subsampling;
      const auto jpeg = test::make_jpeg(size.width, size.height, options);
      REQUIRE(differing_boxes(*decoder, jpeg, random, 20) == 0);
    }
  }
}

TEST_CASE("only what the box needs is decoded", "[decode]") {
  const auto jpeg = test::make_jpeg(640, 480);
  auto decoder = image::make_jpeg_decoder();
  REQUIRE(decoder->open(jpeg, true));
  PixelRows rows;
  REQUIRE(decoder->decode({300, 200, 32, 32}, rows));
  CHECK(rows.covers.width <= 32 + 2 * 16 + 16);
  CHECK(rows.covers.y == 200);
  CHECK(rows.covers.height == 32);
  CHECK(rows.memory.size() - (rows.offset + rows.stride_bytes * 31 + 3 * static_cast<size_t>(rows.covers.width)) >=
        PixelRows::kSlackBytes);
}

// libjpeg-turbo's colour conversion writes rows that are aligned to 16 bytes (SSE2) or 32 (AVX2) past the cache.
TEST_CASE("rows are not placed where libjpeg streams them past the cache", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  PixelRows rows;
  const auto jpeg = test::make_jpeg(100, 20);
  for (int width = 1; width < 100; width += 9) {
    REQUIRE(decoder->open(jpeg, true));
    REQUIRE(decoder->decode({0, 0, width, 20}, rows));
    for (int y = 0; y < 20; ++y) CHECK(reinterpret_cast<uintptr_t>(rows.row(y)) % 16 == 8);
  }
}

}  // namespace
}  // namespace spdld
