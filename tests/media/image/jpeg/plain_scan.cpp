// The baseline decoder: it takes what encoders write, gives libjpeg's samples on every instruction set, and leaves
// everything else to libjpeg, so that damage never changes what a picture becomes.
#include "daemon/media/image/codecs/jpeg/plain_scan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/jpeg/codec.h"
#include "daemon/media/image/codecs/jpeg/raw_planes.h"
#include "tests/media/image/jpeg/both_decoders.h"
#include "tests/media/image/jpeg/targets.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::plain_scan_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::OwnDecoding;
using image::PlainScan;
using test::Both;
using test::box_in;
using test::JpegOptions;
using test::on_every_target;
using test::PlanesMemory;
using test::Subsampling;

void read_header(jpeg_decompress_struct& jpeg, Bytes& bytes) {
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
}

// What the baseline decoder alone says to a whole picture; none: libjpeg takes not even its header.
std::optional<OwnDecoding> outcome_of(Bytes jpeg, bool to_end = true) {
  image::Codec codec({});
  image::PlanesShapes shapes;
  if (!codec.attempt(read_header, jpeg) || !codec.attempt(image::find_planes_shapes, shapes)) return std::nullopt;
  if (!shapes[0]) return OwnDecoding::kLeft;
  PlanesMemory memory(*shapes[0], 0);
  const std::span<const uint8_t> coded = std::span(jpeg).last(codec.jpeg().src->bytes_in_buffer);
  return PlainScan().read(codec.jpeg(), coded,
                          {*shapes[0], PlanesLayout(*shapes[0]), memory.data(), std::nullopt, to_end}, {},
                          [](uint64_t) { return true; });
}

}  // namespace

TEST_CASE("the baseline decoder takes what encoders write", "[plain]") {
  const auto kind = GENERATE(from_range(std::begin(test::kPlanesKinds), std::end(test::kPlanesKinds)));
  const bool optimized = GENERATE(false, true);
  std::mt19937 random(7);
  Both both;
  for (const int quality : {1, 10, 50, 75, 90, 100}) {
    for (const int restart_interval : {0, 1, 3, 40}) {
      JpegOptions options;
      options.quality = quality, options.subsampling = kind.subsampling, options.grey = kind.grey;
      options.optimized = optimized, options.restart_interval = restart_interval;
      options.seed = static_cast<uint32_t>(random());
      const int width = 1 + static_cast<int>(random() % 200), height = 1 + static_cast<int>(random() % 200);
      const Bytes jpeg = test::make_jpeg(width, height, options);
      CAPTURE(kind.grey, static_cast<int>(kind.subsampling), quality, restart_interval, width, height, optimized);
      CHECK(outcome_of(jpeg) == OwnDecoding::kDone);
      CHECK(both.difference(jpeg, box_in(width, height, random), false).empty());
      CHECK(both.difference(jpeg, box_in(width, height, random), true).empty());
    }
  }
}

TEST_CASE("boxes at every offset from an MCU's edge have libjpeg's samples", "[plain]") {
  const auto subsampling = GENERATE(Subsampling::k420, Subsampling::k422, Subsampling::k444);
  JpegOptions options;
  options.subsampling = subsampling;
  const Bytes jpeg = test::make_jpeg(90, 75, options);
  Both both;
  int differing = 0;
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 17; ++x)
      for (const int side : {1, 16, 41})
        differing += !both.difference(jpeg, {15 + x, 14 + y, side, std::min(side, 75 - 14 - y)}, false).empty();
  CHECK(differing == 0);
}

TEST_CASE("the inverse DCT has libjpeg's samples on every instruction set", "[plain]") {
  std::mt19937 random(3);
  std::vector<Bytes> pictures;
  for (int i = 0; i < 40; ++i) {
    JpegOptions options = test::coded(i % 4 == 1 ? 1 : 0, i % 2 == 0 ? Subsampling::k420 : Subsampling::k444);
    options.quality = 5 + i * 95 / 39, options.seed = static_cast<uint32_t>(i);
    pictures.push_back(
        test::make_jpeg(1 + static_cast<int>(random() % 150), 1 + static_cast<int>(random() % 90), options));
  }
  test::on_every_target([&](int64_t target) {
    Both both;
    int differing = 0, left = 0;
    for (const Bytes& jpeg : pictures) {
      differing += !both.difference(jpeg, {0, 0, 1, 1}, false).empty();
      left += outcome_of(jpeg) != OwnDecoding::kDone;
    }
    CHECK(differing == 0);
    CHECK(left == (target == HWY_SCALAR ? 40 : 0));
  });
}

TEST_CASE("JPEGs of other kinds are not the baseline decoder's", "[plain]") {
  JpegOptions options;
  SECTION("progressive") { options.progressive = true; }
  SECTION("a scan for each component") { options.separate_scans = true; }
  SECTION("arithmetic coding") { options.arithmetic = true; }
  SECTION("inks") { options.cmyk = true; }
  CHECK(outcome_of(test::make_jpeg(60, 50, options)) == OwnDecoding::kLeft);
}

TEST_CASE("a scan that does not end where the picture does is libjpeg's, where damage is refused", "[plain]") {
  const Bytes jpeg = test::make_jpeg(60, 50);
  Bytes longer = jpeg;
  longer.insert(longer.end() - 2, {0x12, 0x34});
  CHECK(outcome_of(jpeg, true) == OwnDecoding::kDone);
  CHECK(outcome_of(longer, true) == OwnDecoding::kLeft);
  CHECK(outcome_of(longer, false) == OwnDecoding::kDone);
}

TEST_CASE("codes that are none leave nothing behind", "[plain]") { test::check_codes_that_are_none({}); }

TEST_CASE("damage is libjpeg's to answer: the verdict, its reason and every sample are the same", "[plain]") {
  const int restart_interval = GENERATE(0, 2);
  const bool strict = GENERATE(false, true);
  std::mt19937 random(static_cast<unsigned>(restart_interval) * 2 + strict);
  const auto options_of = [&](int i) {
    JpegOptions options;
    options.quality = 1 + static_cast<int>(random() % 100), options.restart_interval = restart_interval;
    options.subsampling = i % 2 ? Subsampling::k444 : Subsampling::k420, options.grey = i % 5 == 0;
    options.optimized = i % 3 == 0, options.seed = static_cast<uint32_t>(i % 50);
    return options;
  };
  test::check_damage(strict, random, options_of,
                     [](const Bytes& jpeg, bool to_end) { return outcome_of(jpeg, to_end); });
}

}  // namespace spdld::plain_scan_test
