// The progressive decoder: it takes what encoders write, gives libjpeg's samples, and leaves everything else to
// libjpeg.
#include "daemon/media/image/codecs/jpeg/progressive_scans.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "daemon/media/image/codecs/jpeg/codec.h"
#include "daemon/media/image/codecs/jpeg/raw_planes.h"
#include "tests/media/image/jpeg/both_decoders.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::progressive_scans_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::OwnDecoding;
using test::Both;
using test::box_in;
using test::JpegOptions;
using test::PlanesMemory;
using test::Subsampling;

void read_header(jpeg_decompress_struct& jpeg, Bytes& bytes) {
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
}

// What the progressive decoder alone says to a whole picture; none: libjpeg takes not even its header.
std::optional<OwnDecoding> outcome_of(Bytes jpeg, bool to_end = true) {
  image::Codec codec({});
  image::PlanesShapes shapes;
  if (!codec.attempt(read_header, jpeg) || !codec.attempt(image::find_planes_shapes, shapes)) return std::nullopt;
  if (!shapes[0]) return OwnDecoding::kLeft;
  PlanesMemory memory(*shapes[0], 0);
  const std::span<const uint8_t> coded = std::span(jpeg).last(codec.jpeg().src->bytes_in_buffer);
  return image::ProgressiveScans().read(codec.jpeg(), coded,
                                        {*shapes[0], PlanesLayout(*shapes[0]), memory.data(), std::nullopt, to_end},
                                        [](uint64_t) { return true; });
}

JpegOptions progressive(int progression, uint32_t seed) {
  JpegOptions options;
  options.progressive = true, options.progression = progression, options.seed = seed;
  return options;
}

}  // namespace

TEST_CASE("the progressive decoder takes what encoders write", "[progressive]") {
  const auto kind = GENERATE(from_range(std::begin(test::kPlanesKinds), std::end(test::kPlanesKinds)));
  const int progression = GENERATE(0, 1, 2, 3);
  std::mt19937 random(static_cast<unsigned>(progression));
  Both both;
  for (const int quality : {1, 20, 50, 75, 90, 100}) {
    for (const int restart_interval : {0, 1, 3, 40}) {
      JpegOptions options = progressive(progression, static_cast<uint32_t>(random()));
      options.quality = quality, options.subsampling = kind.subsampling, options.grey = kind.grey;
      options.restart_interval = restart_interval;
      const int width = 1 + static_cast<int>(random() % 200), height = 1 + static_cast<int>(random() % 200);
      const Bytes jpeg = test::make_jpeg(width, height, options);
      CAPTURE(kind.grey, static_cast<int>(kind.subsampling), quality, restart_interval, width, height, progression);
      CHECK(outcome_of(jpeg) == OwnDecoding::kDone);
      CHECK(both.difference(jpeg, box_in(width, height, random), false).empty());
      CHECK(both.difference(jpeg, box_in(width, height, random), true).empty());
    }
  }
}

TEST_CASE("codes that are none leave nothing behind, in progressive pictures too", "[progressive]") {
  test::check_codes_that_are_none(progressive(0, 1));
}

TEST_CASE("long runs of ended bands are counted", "[progressive]") {
  JpegOptions options = progressive(GENERATE(0, 2, 3), 1);
  options.flat = true;
  const Bytes jpeg = test::make_jpeg(2100, 1300, options);  // more blocks than the longest run
  Both both;
  CHECK(outcome_of(jpeg) == OwnDecoding::kDone);
  CHECK(both.difference(jpeg, {1000, 1200, 80, 90}, false).empty());
}

TEST_CASE("boxes of progressive pictures at every offset have libjpeg's samples", "[progressive]") {
  JpegOptions options = progressive(GENERATE(0, 2), 5);
  options.subsampling = GENERATE(Subsampling::k420, Subsampling::k422, Subsampling::k444);
  const Bytes jpeg = test::make_jpeg(90, 75, options);
  Both both;
  int differing = 0;
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 17; ++x)
      for (const int side : {1, 16, 41})
        differing += !both.difference(jpeg, {15 + x, 14 + y, side, std::min(side, 75 - 14 - y)}, false).empty();
  CHECK(differing == 0);
}

TEST_CASE("pictures that are smoothed, or not progressive, are libjpeg's", "[progressive]") {
  JpegOptions options;
  SECTION("baseline") {}
  SECTION("unfinished") { options.unfinished = true; }
  SECTION("arithmetic coding") { options.progressive = options.arithmetic = true; }
  SECTION("inks") { options.progressive = options.cmyk = true; }
  CHECK(outcome_of(test::make_jpeg(60, 50, options)) == OwnDecoding::kLeft);
}

TEST_CASE("a progressive picture with bytes behind a scan is libjpeg's, where damage is refused", "[progressive]") {
  Bytes jpeg = test::make_jpeg(60, 50, progressive(0, 1));
  jpeg.insert(jpeg.end() - 2, {0x12, 0x34});
  CHECK(outcome_of(jpeg, true) == OwnDecoding::kLeft);
  CHECK(outcome_of(jpeg, false) == OwnDecoding::kDone);
}

TEST_CASE("components of a scan in another order than the frame's are libjpeg's, which refuses most", "[progressive]") {
  const Bytes jpeg = test::make_jpeg(60, 44, progressive(0, 1));
  const Bytes refinement = {0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 0x10};  // of DC
  const auto found = std::search(jpeg.begin(), jpeg.end(), refinement.begin(), refinement.end());
  REQUIRE(found != jpeg.end());
  const auto first_id = static_cast<size_t>(found - jpeg.begin()) + 5;
  std::array<uint8_t, 3> ids = {1, 2, 3};
  Both both;
  do {
    Bytes other = jpeg;
    for (size_t i = 0; i < ids.size(); ++i) other[first_id + 2 * i] = ids[i];
    CAPTURE(int{ids[0]}, int{ids[1]}, int{ids[2]});
    CHECK((outcome_of(other) == OwnDecoding::kDone) == (other == jpeg));
    CHECK(both.difference(other, {5, 6, 30, 20}, false).empty());
  } while (std::next_permutation(ids.begin(), ids.end()));
}

TEST_CASE("damage of progressive pictures is libjpeg's to answer", "[progressive]") {
  const int restart_interval = GENERATE(0, 2);
  const bool strict = GENERATE(false, true);
  std::mt19937 random(static_cast<unsigned>(restart_interval) * 2 + strict);
  const auto options_of = [&](int i) {
    JpegOptions options = progressive(i % 4, static_cast<uint32_t>(i % 50));
    options.quality = 1 + static_cast<int>(random() % 100), options.restart_interval = restart_interval;
    options.subsampling = i % 2 ? Subsampling::k444 : Subsampling::k420, options.grey = i % 5 == 0;
    return options;
  };
  test::check_damage(strict, random, options_of,
                     [](const Bytes& jpeg, bool to_end) { return outcome_of(jpeg, to_end); });
}

}  // namespace spdld::progressive_scans_test
