// Once a decoder's memory has grown, pictures are decoded without an allocation: neither by us nor by libjpeg, libspng
// or zlib.
#include <catch2/catch.hpp>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "tests/support/allocations.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/planes_memory.h"
#include "tests/support/steady.h"

namespace spdld {
namespace {

struct Photo {
  std::vector<uint8_t> jpeg;
  test::PlanesMemory planes;
};

// A picture whose rows take more than a decoder keeps.
template <typename Decoder>
void check_that_rows_are_given_back(Decoder& decoder, const std::vector<uint8_t>& huge, int width, int height) {
  PixelRows rows;
  int failed = 0;
  const auto decode = [&] { failed += !decoder.open(huge, true) || !decoder.decode({0, 0, width, height}, rows); };
  decode();
  decode();
  const long before = test::allocations();
  decode();
  const long counted = test::allocations() - before;
  CHECK(failed == 0);
  CHECK((counted > 0) == test::counts_allocations());  // what was given back is taken anew
}

TEST_CASE("planes allocate nothing in steady state", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  std::vector<Photo> photos;
  for (int i = 0; i < 24; ++i) {
    test::JpegOptions options;
    options.grey = i % 5 == 1;
    options.progressive = i % 5 == 3;
    options.subsampling = i % 2 == 0 ? test::Subsampling::k420 : test::Subsampling::k444;
    auto jpeg = test::make_jpeg(200 + 10 * i, 400 - 9 * i, options);
    REQUIRE(decoder->open(jpeg, true));
    photos.push_back({std::move(jpeg), test::PlanesMemory(*decoder->planes(), 0)});
  }
  test::check_steady([&] {
    int failed = 0;
    for (Photo& photo : photos) {
      failed += !decoder->open(photo.jpeg, true) || !decoder->decode_planes(photo.planes.data());
      failed += !decoder->open(photo.jpeg, true) || !decoder->decode_planes({20, 30, 90, 70}, photo.planes.data());
    }
    return failed;
  });
}

TEST_CASE("PNGs allocate nothing in steady state", "[decode]") {
  auto decoder = image::make_image_decoder();
  std::vector<std::vector<uint8_t>> pictures;
  for (uint32_t i = 0; i < 24; ++i) {
    const auto& kind = test::kPngKinds[i % std::size(test::kPngKinds)];
    auto made = test::make_png(200 + 10 * static_cast<int>(i), 400 - 9 * static_cast<int>(i),
                               {.colour = kind.colour, .depth = kind.depth, .interlaced = i % 3 == 0, .seed = i});
    if (i % 4 == 0) test::insert_png_chunk(made.bytes, "IDAT", test::exif_png_chunk(6));
    pictures.push_back(std::move(made.bytes));
  }
  PixelRows rows;
  test::check_steady([&] {
    int failed = 0;
    for (const auto& png : pictures) {
      failed += !decoder->open(png, true) || !decoder->decode({20, 30, 90, 70}, rows);
      failed += !decoder->open(png, false) || !decoder->decode({0, 0, 200, 190}, rows);
    }
    return failed;
  });
}

TEST_CASE("rows of a huge picture that is not stored upright are given back", "[decode]") {
  constexpr int kWidth = 4000, kHeight = 2900;
  static_assert(size_t{kWidth} * kHeight * 3 > image::kMemoryKeptMax);
  test::JpegOptions options;
  options.exif_orientation = 6;
  const auto decoder = image::make_image_decoder();
  check_that_rows_are_given_back(*decoder, test::make_jpeg(kWidth, kHeight, options), kHeight, kWidth);
}

}  // namespace
}  // namespace spdld
