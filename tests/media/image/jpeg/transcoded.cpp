// Progressive JPEGs that become plain ones: the same samples, with an index, and nothing else is taken.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/baseline/plain_jpeg.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/media/image/jpeg/both_decoders.h"
#include "tests/media/image/jpeg/targets.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::transcoded_test {
namespace {

using Bytes = std::vector<uint8_t>;
using test::box_in;
using test::JpegOptions;
using test::PlanesMemory;

class Decoders {
 public:
  // Empty: the picture has no plain form. The planes on the way have to be libjpeg's.
  Bytes transcode(const Bytes& jpeg, bool strict = false) {
    if (!own_->open(jpeg, true, strict) || !own_->planes()) return {};
    const PlanesShape shape = *own_->planes();
    PlanesMemory had(shape, 0x77), want(shape, 0x77);
    std::span<const uint8_t> plain;
    const Status decoded = own_->transcode(had.data(), plain);
    REQUIRE(libjpeg_->open(jpeg, true, strict));
    CHECK(bool(decoded) >= bool(libjpeg_->decode_planes(want.data())));
    CHECK(own_->planes() == shape);
    if (!decoded || plain.empty()) return {};
    CHECK(test::same_samples(had, want, {0, 0, shape.picture.width, shape.picture.height}));
    CHECK(own_->index_bytes() > 0);
    return {plain.begin(), plain.end()};
  }
  // Whether two pictures have the same planes, by libjpeg alone.
  bool are_same(const Bytes& one, const Bytes& other) {
    REQUIRE(own_->open(one, true));
    REQUIRE(own_->planes());
    const PlanesShape shape = *own_->planes();
    PlanesMemory had(shape, 0x77), want(shape, 0x77);
    for (auto [jpeg, memory] : {std::pair(&one, &had), std::pair(&other, &want)}) {
      REQUIRE(libjpeg_->open(*jpeg, true, true));
      REQUIRE(libjpeg_->planes() == shape);
      REQUIRE(libjpeg_->decode_planes(memory->data()));
    }
    return std::memcmp(had.data(), want.data(), had.size()) == 0;
  }

 private:
  std::unique_ptr<image::ImageDecoder> own_ = image::make_jpeg_decoder(),
                                       libjpeg_ = image::make_jpeg_decoder({.only_libjpeg = true});
};

// The content of a picture's segments of a kind, one behind the other.
Bytes segments_of(const Bytes& jpeg, uint8_t marker) {
  Bytes content;
  for (size_t at = 2; at + 4 <= jpeg.size() && jpeg[at] == 0xFF;) {
    const size_t length = static_cast<size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3];
    const auto begin = jpeg.begin() + static_cast<ptrdiff_t>(at) + 4;
    if (jpeg[at + 1] == marker) content.insert(content.end(), begin, begin + static_cast<ptrdiff_t>(length) - 2);
    if (jpeg[at + 1] == 0xDA) break;
    at += 2 + length;
  }
  return content;
}

}  // namespace

TEST_CASE("a progressive picture becomes a plain one with libjpeg's samples", "[transcoded]") {
  const auto kind = GENERATE(from_range(std::begin(test::kPlanesKinds), std::end(test::kPlanesKinds)));
  const int progression = GENERATE(0, 1, 2, 3);
  std::mt19937 random(7);
  Decoders decoders;
  for (const int quality : {10, 50, 90, 97}) {
    for (const int restart_interval : {0, 3}) {
      JpegOptions options;
      options.quality = quality, options.subsampling = kind.subsampling, options.grey = kind.grey;
      options.restart_interval = restart_interval, options.progressive = true, options.progression = progression;
      options.seed = static_cast<uint32_t>(random());
      const int width = 100 + static_cast<int>(random() % 300), height = 100 + static_cast<int>(random() % 200);
      const Bytes jpeg = test::make_jpeg(width, height, options);
      CAPTURE(kind.grey, static_cast<int>(kind.subsampling), quality, restart_interval, width, height, progression);
      const Bytes plain = decoders.transcode(jpeg, random() % 2 == 0);
      REQUIRE_FALSE(plain.empty());
      CHECK(decoders.are_same(jpeg, plain));
    }
  }
}

TEST_CASE("the plain picture is what libjpeg's encoder makes of the same coefficients", "[transcoded]") {
  const auto kind = GENERATE(from_range(std::begin(test::kPlanesKinds), std::end(test::kPlanesKinds)));
  const int width = GENERATE(203, 197), height = GENERATE(157, 149);  // some MCUs reach beyond the blocks
  JpegOptions options;
  options.subsampling = kind.subsampling, options.grey = kind.grey;
  const Bytes plain = test::make_jpeg(width, height, options);
  options.progressive = true;
  const Bytes made = Decoders().transcode(test::make_jpeg(width, height, options));
  REQUIRE_FALSE(made.empty());
  CHECK(segments_of(made, 0xC4) == segments_of(plain, 0xC4));
  CHECK(segments_of(made, 0xDA) == segments_of(plain, 0xDA));
  const auto scan_of = [](const Bytes& jpeg) {
    constexpr std::array<uint8_t, 2> kScan = {0xFF, 0xDA};
    const auto at = std::search(jpeg.begin(), jpeg.end(), kScan.begin(), kScan.end());
    return Bytes(at, jpeg.end());
  };
  CHECK(scan_of(made) == scan_of(plain));
}

TEST_CASE("pictures of every small size become plain ones", "[transcoded]") {
  JpegOptions options;
  options.progressive = true, options.subsampling = GENERATE(test::Subsampling::k420, test::Subsampling::k422,
                                                             test::Subsampling::k440, test::Subsampling::k444);
  Decoders decoders;
  int made = 0;
  for (int width = 60; width < 77; ++width) {
    for (int height = 60; height < 77; ++height) {
      const Bytes jpeg = test::make_jpeg(width, height, options);
      const Bytes plain = decoders.transcode(jpeg);
      if (plain.empty()) continue;
      made++;
      REQUIRE(decoders.are_same(jpeg, plain));
    }
  }
  CHECK(made == 17 * 17);
}

TEST_CASE("other pictures are not transcoded", "[transcoded]") {
  JpegOptions options;
  SECTION("plain") {}
  SECTION("a scan for each component") { options.separate_scans = true; }
  SECTION("arithmetic coding") { options.arithmetic = true; }
  SECTION("inks") { options.cmyk = options.progressive = true; }
  SECTION("turned") { options.progressive = true, options.exif_orientation = 6; }
  SECTION("unfinished") { options.progressive = options.unfinished = true; }
  const Bytes jpeg = test::make_jpeg(160, 120, options);
  CHECK(Decoders().transcode(jpeg).empty());
}

TEST_CASE("a step or a coefficient that no baseline picture has is not written", "[transcoded]") {
  using image::baseline::kBlockSamples;
  image::baseline::PackedPlane plane{1, 1, {}};
  plane.steps.fill(1);
  alignas(64) std::array<int16_t, 9 * 8 * 4> groups{};
  std::array<uint8_t, 1> last = {63};
  bool is_written = false;
  const size_t in_group = image::baseline::blocks_in_group();
  const auto places = image::baseline::places_of(in_group);
  SECTION("neither") { is_written = true; }
  SECTION("the largest values") {
    groups[0] = GENERATE(2047, -2047);
    groups[places[63]] = GENERATE(1023, -1023);
    is_written = true;
  }
  SECTION("a step of 9 bits") { plane.steps[63] = 256; }
  SECTION("a DC coefficient of 12 bits") { groups[0] = GENERATE(2048, -2048); }
  SECTION("an AC coefficient of 11 bits") { groups[places[17]] = GENERATE(1024, -1024); }
  image::baseline::PackedWriter packed;
  const std::array<int, 1> lines = {1};
  packed.begin(std::span(&plane, 1), lines);
  packed.add(0, 0, {groups.data(), last, plane.steps, {}});
  REQUIRE(packed.finish());
  const auto picture = image::baseline::PackedPicture::view(packed.picture());
  REQUIRE(picture);
  image::baseline::PlainJpegWriter writer;
  CHECK(writer.write(*picture, {8, 8, 1, 1}).empty() != is_written);
  CHECK(writer.write(*picture, {9, 8, 1, 1}).empty());
  CHECK(writer.write(*picture, {8, 9, 1, 1}).empty());
}

TEST_CASE("damaged packed coefficients make another JPEG, or none", "[transcoded]") {
  const auto decoder = image::make_jpeg_decoder();
  const Bytes jpeg = test::make_jpeg(120, 90, {.progressive = true});
  REQUIRE(decoder->open(jpeg, true));
  PlanesMemory planes(*decoder->planes(), 0);
  std::span<const uint8_t> made;
  REQUIRE(decoder->decode_and_pack(planes.data(), made));
  std::mt19937 random(5);
  image::baseline::PlainJpegWriter writer;
  int written = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes packed(made.begin(), made.end());
    for (int change = 0; change < 4; ++change) packed[random() % packed.size()] = static_cast<uint8_t>(random());
    if (i % 4 == 0) packed.resize(random() % packed.size());
    const auto picture = image::baseline::PackedPicture::view(packed);
    written += picture && !writer.write(*picture, {120, 90, 2, 2}).empty();
  }
  CHECK(written > 0);
  CHECK(written < 2000);
}

}  // namespace spdld::transcoded_test
