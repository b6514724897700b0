// Planes are libjpeg's raw output, at the places that PlanesLayout names, and nothing else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::planes_test {
namespace {

using Bytes = std::vector<uint8_t>;
using test::JpegOptions;
using test::PlanesMemory;
using test::Subsampling;

bool is_zero(const uint8_t* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [](uint8_t byte) { return byte == 0; });
}

// Empty: `memory` has the raw output's samples, and zeroes everywhere else.
std::string fault_of(const PlanesMemory& memory, const PlanesShape& shape, const Bytes& jpeg) {
  PlanesView view;
  if (!view_planes(memory.data(), memory.size(), view) || !(view.shape == shape)) return "header";
  const auto raw = test::raw_plainly(jpeg);
  if (raw.size() != static_cast<size_t>(shape.planes())) return "count of planes";
  for (size_t c = 0; c < raw.size(); ++c) {
    const Size size = shape.plane(static_cast<int>(c));
    const auto width = static_cast<size_t>(size.width);
    for (size_t y = 0; y < static_cast<size_t>(size.height); ++y) {
      const uint8_t* row = view.plane[c] + view.stride_bytes[c] * y;
      const std::string where = " of plane " + std::to_string(c) + ", row " + std::to_string(y);
      if (std::memcmp(row, raw[c].samples.data() + static_cast<size_t>(raw[c].stride) * y, width) != 0) {
        return "samples" + where;
      }
      if (!is_zero(row + width, view.stride_bytes[c] - width)) return "padding" + where;
    }
  }
  if (!is_zero(memory.data() + memory.size() - PlanesLayout::kSlackBytes, PlanesLayout::kSlackBytes)) return "slack";
  return {};
}

std::string fault_of_whole(image::ImageDecoder& decoder, const Bytes& jpeg) {
  if (!decoder.open(jpeg, true)) return "open";
  const auto shape = decoder.planes();
  if (!shape) return "no planes";
  PlanesMemory memory(*shape, 0xA5), other(*shape, 0x5A);
  if (!decoder.decode_planes(memory.data()) || !decoder.decode_planes(other.data())) return "decode";
  if (std::memcmp(memory.data(), other.data(), memory.size()) != 0) return "bytes that were not written";
  return fault_of(memory, *shape, jpeg);
}

int differing_boxes(image::ImageDecoder& decoder, const Bytes& jpeg, std::mt19937& random, int boxes) {
  const auto size = decoder.open(jpeg, true);
  if (!size || !decoder.planes()) return boxes;
  const PlanesShape shape = *decoder.planes();
  PlanesMemory whole(shape, 0), some(shape, 0);
  PlanesView whole_view, some_view;
  if (!decoder.decode_planes(whole.data()) || !view_planes(whole.data(), whole.size(), whole_view)) return boxes;
  int differing = 0;
  for (int i = 0; i < boxes; ++i) {
    const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
    Box box{0, 0, 1 + below(size->width), 1 + below(size->height)};
    if (i % 4 == 0) box.height = std::min(box.height, 3);
    box.x = below(size->width - box.width + 1), box.y = below(size->height - box.height + 1);
    std::memset(some.data(), 0x77, some.size());
    if (!decoder.decode_planes(box, some.data()) || !view_planes(some.data(), some.size(), some_view) ||
        !test::same_samples(some_view, whole_view, box)) {
      UNSCOPED_INFO("box " << box.x << "," << box.y << " " << box.width << "x" << box.height);
      ++differing;
    }
  }
  return differing;
}

// Without its JFIF segment, so that libjpeg looks elsewhere for what the components are.
Bytes without_jfif(Bytes jpeg) {
  REQUIRE(jpeg[3] == 0xE0);
  const size_t length = static_cast<size_t>(jpeg[4]) << 8 | jpeg[5];
  jpeg.erase(jpeg.begin() + 2, jpeg.begin() + 4 + static_cast<ptrdiff_t>(length));
  return jpeg;
}

Bytes with_adobe(Bytes jpeg, uint8_t transform) {
  const Bytes segment = {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, transform};
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

TEST_CASE("planes are libjpeg's raw output", "[decode]") {
  const auto subsampling = GENERATE(Subsampling::k444, Subsampling::k422, Subsampling::k420, Subsampling::k440);
  const int kind = GENERATE(range(0, test::kCodings));
  JpegOptions options = test::coded(kind, subsampling);
  CAPTURE(static_cast<int>(subsampling), kind);
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(static_cast<unsigned>(kind) * 10 + static_cast<unsigned>(subsampling));
  for (uint32_t picture = 0; picture < 12; ++picture) {
    options.seed = picture;
    options.quality = 20 + static_cast<int>(random() % 80);
    const int width = 1 + static_cast<int>(random() % 150), height = 1 + static_cast<int>(random() % 150);
    const auto jpeg = test::make_jpeg(width, height, options);
    REQUIRE(fault_of_whole(*decoder, jpeg).empty());
    REQUIRE(differing_boxes(*decoder, jpeg, random, 25) == 0);
  }
}

TEST_CASE("of planes only what the box needs is decoded", "[decode]") {
  const auto jpeg = test::make_jpeg(640, 480);
  auto decoder = image::make_jpeg_decoder();
  REQUIRE(decoder->open(jpeg, true));
  PlanesMemory memory(*decoder->planes(), 0);
  REQUIRE(decoder->decode_planes(memory.data()));
  std::memset(memory.data(), 0x77, memory.size());
  REQUIRE(decoder->decode_planes({300, 200, 32, 32}, memory.data()));
  size_t written = 0;
  for (size_t i = 0; i < memory.size(); ++i) written += memory.data()[i] != 0x77;
  CHECK(written > 32 * 32 * 3 / 2);
  CHECK(written < 80 * 64 * 3 / 2 + PlanesLayout::kHeaderBytes + 1);
}

TEST_CASE("planes of tiny and thin pictures", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(5);
  for (const auto subsampling : {Subsampling::k444, Subsampling::k422, Subsampling::k420, Subsampling::k440}) {
    for (const Size size : {Size{1, 1},
                            {1, 40},
                            {40, 1},
                            {2, 2},
                            {3, 5},
                            {8, 8},
                            {16, 16},
                            {17, 17},
                            {64, 64},
                            {65, 127},
                            {33, 2},
                            {2, 33},
                            {700, 3}}) {
      JpegOptions options;
      options.subsampling = subsampling;
      const auto jpeg = test::make_jpeg(size.width, size.height, options);
      REQUIRE(fault_of_whole(*decoder, jpeg).empty());
      REQUIRE(differing_boxes(*decoder, jpeg, random, 15) == 0);
    }
  }
}

TEST_CASE("the shape follows from the ratio of sampling factors", "[decode]") {
  struct Case {
    std::vector<test::Sampling> sampling;
    int across, down;  // 0: no planes
  };
  const std::vector<Case> cases = {
      {{{1, 1}, {1, 1}, {1, 1}}, 1, 1},
      {{{2, 1}, {1, 1}, {1, 1}}, 2, 1},
      {{{2, 2}, {1, 1}, {1, 1}}, 2, 2},
      {{{1, 2}, {1, 1}, {1, 1}}, 1, 2},
      {{{2, 1}, {2, 1}, {2, 1}}, 1, 1},
      {{{2, 2}, {1, 2}, {1, 2}}, 2, 1},
      {{{2, 2}, {2, 1}, {2, 1}}, 1, 2},
      {{{4, 1}, {2, 1}, {2, 1}}, 2, 1},
      {{{1, 1}}, 1, 1},
      {{{2, 2}}, 1, 1},
      {{{4, 1}, {1, 1}, {1, 1}}, 0, 0},
      {{{1, 4}, {1, 1}, {1, 1}}, 0, 0},
      {{{2, 2}, {1, 1}, {2, 1}}, 0, 0},
      {{{1, 1}, {2, 2}, {1, 1}}, 0, 0},
      {{{1, 1}, {2, 1}, {2, 1}}, 0, 0},
      {{{3, 1}, {1, 1}, {1, 1}}, 0, 0},
  };
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(6);
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Case& one = cases[i];
    test::JpegOptions options;
    options.grey = one.sampling.size() == 1;
    options.sampling = one.sampling;
    options.seed = static_cast<uint32_t>(i);
    const auto jpeg = test::make_jpeg(77, 59, options);
    REQUIRE(decoder->open(jpeg, true));
    const auto shape = decoder->planes();
    REQUIRE(shape.has_value() == (one.across > 0));
    if (!shape) continue;
    CHECK(shape->picture == Size{77, 59});
    CHECK(shape->grey == (one.sampling.size() == 1));
    CHECK(int{shape->chroma_across} == one.across);
    CHECK(int{shape->chroma_down} == one.down);
    CHECK(fault_of_whole(*decoder, jpeg).empty());
    CHECK(differing_boxes(*decoder, jpeg, random, 25) == 0);
  }
}

TEST_CASE("colours that planes do not carry", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  const auto has_planes = [&](const Bytes& jpeg) {
    REQUIRE(decoder->open(jpeg, true));
    return decoder->planes().has_value();
  };
  JpegOptions options;
  options.subsampling = Subsampling::k444;
  const auto jpeg = test::make_jpeg(40, 30, options);
  CHECK(has_planes(jpeg));
  CHECK(has_planes(without_jfif(jpeg)));
  CHECK(has_planes(with_adobe(without_jfif(jpeg), 1)));
  CHECK_FALSE(has_planes(with_adobe(without_jfif(jpeg), 0)));

  auto named = without_jfif(jpeg);  // the components are called R, G and B
  const Bytes frame = {0xFF, 0xC0}, scan = {0xFF, 0xDA};
  const auto in_frame = std::search(named.begin(), named.end(), frame.begin(), frame.end());
  const auto in_scan = std::search(named.begin(), named.end(), scan.begin(), scan.end());
  for (int c = 0; c < 3; ++c) in_frame[10 + 3 * c] = in_scan[5 + 2 * c] = static_cast<uint8_t>("RGB"[c]);
  CHECK_FALSE(has_planes(named));

  options.cmyk = true;
  CHECK_FALSE(has_planes(test::make_jpeg(40, 30, options)));
  CHECK(has_planes(jpeg));
}

TEST_CASE("a picture that is to be turned has no planes", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  for (int orientation = 0; orientation <= 8; ++orientation) {
    JpegOptions options;
    options.exif_orientation = orientation;
    const auto jpeg = test::make_jpeg(40, 30, options);
    REQUIRE(decoder->open(jpeg, true));
    CHECK(decoder->planes().has_value() == (orientation <= 1));
    REQUIRE(decoder->open(jpeg, false));
    CHECK(decoder->planes().has_value());
  }
}

TEST_CASE("planes of damaged pictures are libjpeg's, or refused where strict says so", "[decode]") {
  auto jpeg = test::make_jpeg(256, 256);
  const auto good = jpeg;
  jpeg.erase(jpeg.begin() + static_cast<ptrdiff_t>(jpeg.size() / 2), jpeg.end() - 2);
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(9);
  for (int round = 0; round < 2; ++round) {  // in the second one boxes are read as such from the start
    CHECK(fault_of_whole(*decoder, jpeg).empty());
    CHECK(differing_boxes(*decoder, jpeg, random, 20) == 0);
    REQUIRE(decoder->open(jpeg, true, true));
    PlanesMemory memory(*decoder->planes(), 0);
    for (const Box& box : {Box{0, 0, 256, 256}, {0, 200, 64, 16}, {0, 0, 64, 16}}) {
      const auto refused = decoder->decode_planes(box, memory.data());
      REQUIRE(!refused);
      CHECK(refused.error().trouble == Trouble::kContent);
      CHECK_THAT(refused.error().message, Catch::Matchers::Contains("premature end"));
    }
    CHECK(fault_of_whole(*decoder, good).empty());
  }
}

TEST_CASE("random damage of planes never does worse than an error", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(8);
  int refused = 0, decoded = 0;
  for (uint32_t i = 0; i < 600; ++i) {
    JpegOptions options;
    options.progressive = i % 3 == 0;
    options.restart_interval = i % 5 == 0 ? 3 : 0;
    options.seed = i;
    auto jpeg = test::make_jpeg(70, 50, options);
    for (int k = 0; k < 4; ++k) jpeg[2 + random() % (jpeg.size() - 2)] = static_cast<uint8_t>(random());
    const auto size = decoder->open(jpeg, true);
    if (!size || !decoder->planes() || size->width > 2000 || size->height > 2000) continue;
    PlanesMemory memory(*decoder->planes(), 0);
    ++(decoder->decode_planes(memory.data()) ? decoded : refused);
  }
  CHECK(refused > 50);
  CHECK(decoded > 50);
}

TEST_CASE("planes that can't be asked for", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  CHECK_FALSE(decoder->planes());
  const auto internal = [](const Status& status) { return !status && status.error().trouble == Trouble::kInternal; };
  alignas(64) std::array<uint8_t, 64> nothing{};
  CHECK(internal(decoder->decode_planes(nothing.data())));
  JpegOptions options;
  options.cmyk = true;
  const auto cmyk = test::make_jpeg(20, 20, options);
  REQUIRE(decoder->open(cmyk, true));
  CHECK(internal(decoder->decode_planes(nothing.data())));
  CHECK(internal(decoder->decode_planes({0, 0, 1, 1}, nothing.data())));
  const auto jpeg = test::make_jpeg(40, 30);
  REQUIRE(decoder->open(jpeg, true));
  PlanesMemory memory(*decoder->planes(), 0);
  for (const Box& box : {Box{-1, 0, 5, 5}, {0, 0, 41, 30}, {0, 30, 5, 1}, {0, 0, 0, 5}, {2147483647, 0, 1, 1}}) {
    CHECK(internal(decoder->decode_planes(box, memory.data())));
  }
  CHECK(internal(decoder->decode_planes(memory.data() + 1)));
  CHECK(decoder->decode_planes(memory.data()));
  REQUIRE_FALSE(decoder->open(Bytes{1, 2, 3}, true));
  CHECK_FALSE(decoder->planes());
}

}  // namespace
}  // namespace spdld::planes_test
