// Planes of a box by an index of a JPEG's coded data: libjpeg's samples, from the bytes of the box alone; and a wrong
// index does no harm.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/baseline/scan_index.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/media/image/jpeg/both_decoders.h"
#include "tests/media/image/jpeg/targets.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::indexed_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::baseline::ScanIndex;
using test::box_in;
using test::JpegOptions;
using test::PlanesMemory;
using test::Subsampling;

constexpr image::Pixels kPixels;

// Of an index: whether it is for this picture is not looked at.
bool helps(const Bytes& index) { return ScanIndex::has_points(index); }

class Decoders {
 public:
  // Empty: the picture has none.
  Bytes index_of(const Bytes& jpeg, bool strict = false, const Box& box = {0, 0, 1, 1}) {
    if (!own_->open(jpeg, true, strict) || own_->index_bytes() == 0) return {};
    Bytes index(own_->index_bytes());
    PlanesMemory memory(*own_->planes(), 0);
    const Status decoded = own_->decode_and_index(box, memory.data(), index);
    if (!decoded) return {};
    PlanesMemory whole(*own_->planes(), 0);
    REQUIRE(libjpeg_->open(jpeg, true, strict));
    REQUIRE(libjpeg_->decode_planes(whole.data()));
    CHECK(test::same_samples(memory, whole, box));
    return index;
  }
  // Whether a box of the picture has libjpeg's samples by the index. None: it gave an error.
  std::optional<bool> is_right(const Bytes& jpeg, const Bytes& index, const Box& box, bool strict = false) {
    if (!own_->open_indexed(jpeg, index, true, strict, kPixels) || !own_->planes()) return std::nullopt;
    PlanesMemory had(*own_->planes(), 0x77);
    if (!own_->decode_planes(box, had.data())) return std::nullopt;
    PlanesMemory want(*own_->planes(), 0x77);
    if (!libjpeg_->open(jpeg, true, strict) || !libjpeg_->decode_planes(want.data())) return std::nullopt;
    return test::same_samples(had, want, box);
  }
  // Whether a box of one picture has the samples of another one.
  bool is_as(const Bytes& jpeg, const Bytes& index, const Box& box, const Bytes& other) {
    if (!own_->open_indexed(jpeg, index, true, false, kPixels) || !own_->planes()) return false;
    PlanesMemory had(*own_->planes(), 0x77), want(*own_->planes(), 0x77);
    if (!own_->decode_planes(box, had.data())) return false;
    return libjpeg_->open(other, true, false) && libjpeg_->decode_planes(want.data()) &&
           test::same_samples(had, want, box);
  }

 private:
  std::unique_ptr<image::ImageDecoder> own_ = image::make_jpeg_decoder(),
                                       libjpeg_ = image::make_jpeg_decoder({.only_libjpeg = true});
};

// Where the coded data begins.
size_t scan_of(const Bytes& jpeg) {
  const Bytes marker = {0xFF, 0xDA};
  const auto at = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end()) - jpeg.begin();
  return static_cast<size_t>(at) + 2 + jpeg[static_cast<size_t>(at) + 3];
}

}  // namespace

TEST_CASE("boxes by an index have libjpeg's samples", "[indexed]") {
  const auto kind = GENERATE(from_range(std::begin(test::kPlanesKinds), std::end(test::kPlanesKinds)));
  const bool optimized = GENERATE(false, true);
  std::mt19937 random(7);
  Decoders decoders;
  for (const int quality : {10, 50, 90, 100}) {
    for (const int restart_interval : {0, 1, 3, 40}) {
      JpegOptions options;
      options.quality = quality, options.subsampling = kind.subsampling, options.grey = kind.grey;
      options.optimized = optimized, options.restart_interval = restart_interval;
      options.seed = static_cast<uint32_t>(random());
      const int width = 160 + static_cast<int>(random() % 140), height = 160 + static_cast<int>(random() % 140);
      const Bytes jpeg = test::make_jpeg(width, height, options);
      CAPTURE(kind.grey, static_cast<int>(kind.subsampling), quality, restart_interval, width, height, optimized);
      const bool strict = random() % 2 == 0;
      const Bytes index = decoders.index_of(jpeg, strict, box_in(width, height, random));
      REQUIRE(helps(index));
      CHECK(index.size() * 40 <= jpeg.size() + 320);
      for (int i = 0; i < 6; ++i) CHECK(decoders.is_right(jpeg, index, box_in(width, height, random), strict) == true);
      CHECK(decoders.is_right(jpeg, index, {0, 0, width, height}, strict) == true);
    }
  }
}

TEST_CASE("boxes at every offset from an MCU's edge have libjpeg's samples by an index", "[indexed]") {
  const auto subsampling = GENERATE(Subsampling::k420, Subsampling::k422, Subsampling::k444);
  JpegOptions options;
  options.subsampling = subsampling, options.quality = 95, options.restart_interval = GENERATE(0, 5);
  const Bytes jpeg = test::make_jpeg(150, 75, options);
  Decoders decoders;
  const Bytes index = decoders.index_of(jpeg);
  REQUIRE(helps(index));
  int wrong = 0;
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 34; ++x)
      for (const int side : {1, 16, 41})
        wrong += decoders.is_right(jpeg, index, {15 + x, 14 + y, side, std::min(side, 75 - 14 - y)}) != true;
  CHECK(wrong == 0);
}

TEST_CASE("boxes by an index have libjpeg's samples on every instruction set", "[indexed]") {
  std::mt19937 random(3);
  const Bytes jpeg = test::make_jpeg(333, 222), grey = test::make_jpeg(250, 180, test::coded(1, Subsampling::k444));
  test::on_every_target([&](int64_t target) {
    Decoders decoders;
    const Bytes index = decoders.index_of(jpeg), of_grey = decoders.index_of(grey);
    CHECK(helps(index) == (target != HWY_SCALAR));
    for (int i = 0; i < 10; ++i) {
      CHECK(decoders.is_right(jpeg, index, box_in(333, 222, random)) == true);
      CHECK(decoders.is_right(grey, of_grey, box_in(250, 180, random)) == true);
    }
  });
}

TEST_CASE("a box by an index is read from its own bytes alone", "[indexed]") {
  JpegOptions options;
  options.quality = 90, options.restart_interval = GENERATE(0, 1, 3, 7);
  const Bytes jpeg = test::make_jpeg(400, 320, options);
  Decoders decoders;
  const Bytes index = decoders.index_of(jpeg);
  const size_t scan = scan_of(jpeg);
  const auto points = ScanIndex::view(index, 25 * 20);
  REQUIRE(points);
  // The byte at which the index has its last point up to this MCU.
  const auto at_mcu = [&](uint32_t mcu) { return scan + points->point(mcu / points->spacing()).bit / 8; };
  const Box box{180, 150, 30, 40};  // rows of MCUs 9 to 11, and columns 11 to 13 with their neighbours
  const auto first = static_cast<ptrdiff_t>(at_mcu(9 * 25 + 11)),
             end = static_cast<ptrdiff_t>(at_mcu(12 * 25 + 14 + points->spacing()));
  Bytes changed = jpeg;
  std::fill(changed.begin() + static_cast<ptrdiff_t>(scan), changed.begin() + first, uint8_t{0x5A});
  std::fill(changed.begin() + end, changed.end() - 2, uint8_t{0x5A});
  CHECK(decoders.is_as(changed, index, box, jpeg));
  // Between two rows, too.
  const auto behind = static_cast<ptrdiff_t>(at_mcu(9 * 25 + 14 + points->spacing())) + 2,
             next = static_cast<ptrdiff_t>(at_mcu(10 * 25 + 11));
  REQUIRE(behind < next);
  std::fill(changed.begin() + behind, changed.begin() + next, uint8_t{0x5A});
  CHECK(decoders.is_as(changed, index, box, jpeg));
  const auto within = changed.begin() + (first + behind) / 2;
  std::fill(within, within + 8, uint8_t{0x5A});
  CHECK_FALSE(decoders.is_as(changed, index, box, jpeg));
}

// A byte 0xFF of the scan has a zero behind it, which a reader that ends at such a point must have as well.
TEST_CASE("boxes that end at a point whose byte has a stuffed zero have libjpeg's samples", "[indexed]") {
  constexpr int kAcross = 40, kDown = 12;  // MCUs, of 8 pixels
  Decoders decoders;
  int at_stuffed = 0, within_stuffed = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    JpegOptions options;
    options.quality = 100, options.subsampling = Subsampling::k444, options.seed = seed, options.optimized = true;
    const Bytes jpeg = test::make_jpeg(8 * kAcross, 8 * kDown, options);
    const Bytes index = decoders.index_of(jpeg);
    const auto points = ScanIndex::view(index, kAcross * kDown);
    REQUIRE(points);
    const size_t scan = scan_of(jpeg);
    for (uint32_t point = 1; point < points->points(); ++point) {
      const size_t at = scan + points->point(point).bit / 8;
      if (jpeg[at] != 0xFF) continue;
      ++at_stuffed;
      within_stuffed += points->point(point).bit % 8 != 0;                 // its first bits are the MCU's before
      const int before = static_cast<int>(point * points->spacing()) - 1;  // the last MCU that is read
      CAPTURE(seed, point);
      const Box box{before % kAcross * 8 + 3, before / kAcross * 8 + 3, 2, 2};  // which needs no sample of other MCUs
      CHECK(decoders.is_right(jpeg, index, box) == true);
      // From its own bytes alone: where they are not enough, libjpeg would decode the picture without the index.
      Bytes changed = jpeg;
      const auto begin = changed.begin() + static_cast<ptrdiff_t>(scan);
      std::fill(begin, begin + static_cast<ptrdiff_t>(points->point(point - 1).bit / 8), uint8_t{0x5A});
      std::fill(changed.begin() + static_cast<ptrdiff_t>(at + 2), changed.end() - 2, uint8_t{0x5A});
      CHECK(decoders.is_as(changed, index, box, jpeg));
    }
  }
  CHECK(at_stuffed > 3);
  CHECK(within_stuffed > 3);
}

TEST_CASE("a good picture behind a damaged one, and behind one with an index, has its own samples", "[indexed]") {
  std::mt19937 random(13);
  std::vector<Bytes> good, indexes;
  for (const int restart_interval : {0, 3})
    for (const bool grey : {false, true}) {
      JpegOptions options;
      options.quality = 92, options.restart_interval = restart_interval, options.grey = grey;
      good.push_back(test::make_jpeg(240, 130, options));
      indexes.push_back(Decoders().index_of(good.back()));
      REQUIRE(helps(indexes.back()));
    }
  Decoders decoders;
  for (int i = 0; i < 240; ++i) {
    const size_t first = random() % good.size(), second = random() % good.size();
    Bytes damaged = good[first], index = indexes[first];
    const size_t scan = scan_of(damaged), at = scan + random() % (damaged.size() - scan - 8);
    if (i % 4 == 0) std::fill_n(damaged.begin() + static_cast<ptrdiff_t>(at), 6, static_cast<uint8_t>(random()));
    if (i % 4 == 1) damaged.resize(at);
    if (i % 4 == 2) index[8 + random() % (index.size() - 8)] ^= 0x55;
    const Box box = box_in(240, 130, random);
    (void)decoders.is_right(damaged, i % 8 < 4 ? index : Bytes(), box, i % 3 == 0);
    CAPTURE(i, first, second);
    if (i % 2 == 0) CHECK(decoders.index_of(good[second]) == indexes[second]);
    CHECK(decoders.is_right(good[second], i % 3 == 0 ? Bytes() : indexes[second], box) == true);
  }
}

TEST_CASE("other JPEGs have no index", "[indexed]") {
  JpegOptions options;
  SECTION("progressive") { options.progressive = true; }
  SECTION("a scan for each component") { options.separate_scans = true; }
  SECTION("arithmetic coding") { options.arithmetic = true; }
  SECTION("inks") { options.cmyk = true; }
  SECTION("turned") { options.exif_orientation = 6; }
  CHECK(Decoders().index_of(test::make_jpeg(300, 200, options)).empty());
}

TEST_CASE("a picture of some bytes has no index", "[indexed]") {
  JpegOptions options;
  options.flat = true;
  CHECK(Decoders().index_of(test::make_jpeg(8, 8, options)).empty());
}

TEST_CASE("an index holds places and DC coefficients up to the largest, and no larger ones", "[indexed]") {
  using image::baseline::ScanPoint;
  const Bytes scan(size_t{100} * 1000, 0x11);
  const auto spacing = image::baseline::spacing_of(100, scan.size());
  REQUIRE(spacing.points == 100);
  Bytes bytes(spacing.bytes());
  image::baseline::ScanIndexWriter writer(bytes, spacing);
  CHECK_FALSE(writer.add({uint64_t{1} << 28, {}}));
  for (const int value : {2048, -2049})
    for (size_t c = 0; c < 3; ++c) {
      ScanPoint point;
      point.predicted[c] = value;
      CHECK_FALSE(writer.add(point));
    }
  std::vector<ScanPoint> points;
  for (int i = 0; i < 100; ++i) {
    points.push_back({static_cast<uint64_t>(i) * 8000 + 7, {2047 - i, -2048 + i, i % 2 == 0 ? -i : i}});
    REQUIRE(writer.add(points.back()));
  }
  CHECK_FALSE(writer.add({}));
  REQUIRE(writer.finish(scan));
  const auto index = ScanIndex::view(bytes, 100);
  REQUIRE(index);
  for (uint32_t i = 0; i < 100; ++i) {
    CHECK(index->point(i).bit == points[i].bit);
    CHECK(index->point(i).predicted == points[i].predicted);
  }
  CHECK(image::baseline::spacing_of(100, (size_t{1} << 25) - 1).points > 0);
  CHECK(image::baseline::spacing_of(100, size_t{1} << 25).points == 0);
}

TEST_CASE("a picture with damage gets an index that helps nothing", "[indexed]") {
  Bytes jpeg = test::make_jpeg(200, 160);
  const size_t at = jpeg.size() * 4 / 5;
  std::fill(jpeg.begin() + static_cast<ptrdiff_t>(at), jpeg.begin() + static_cast<ptrdiff_t>(at + 40), uint8_t{0xFE});
  Decoders decoders;
  const Bytes index = decoders.index_of(jpeg);
  CHECK_FALSE(index.empty());
  CHECK_FALSE(helps(index));
  CHECK(decoders.is_right(jpeg, index, {10, 20, 150, 130}) == true);
  CHECK_FALSE(helps(decoders.index_of(jpeg, true)));
}

TEST_CASE("a damaged index never reads or writes outside, and most damage is found", "[indexed]") {
  JpegOptions options;
  options.quality = 92, options.restart_interval = GENERATE(0, 7);
  const Bytes jpeg = test::make_jpeg(210, 130, options);
  Decoders decoders;
  const Bytes index = decoders.index_of(jpeg);
  REQUIRE(helps(index));
  std::mt19937 random(11);
  int right = 0, wrong = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x80, 0xFF}) {
      Bytes changed = index;
      changed[i] = static_cast<uint8_t>(changed[i] ^ flip);
      const auto outcome = decoders.is_right(jpeg, changed, box_in(210, 130, random));
      right += outcome == true, wrong += outcome == false;
    }
  }
  CHECK(right > 10 * wrong);  // a point that begins a row, and is wrong in a way that no other point tells
  for (size_t size = 0; size < index.size(); ++size)
    CHECK(decoders.is_right(jpeg, Bytes(index.begin(), index.begin() + static_cast<ptrdiff_t>(size)),
                            {20, 30, 90, 70}) == true);
  for (int i = 0; i < 300; ++i) {
    Bytes noise = index;
    std::generate(noise.begin() + (i % 3 == 0 ? 0 : 8), noise.end(), [&] { return static_cast<uint8_t>(random()); });
    (void)decoders.is_right(jpeg, noise, box_in(210, 130, random), i % 2 == 0);
  }
  // Of another picture.
  options.seed = 9;
  (void)decoders.is_right(test::make_jpeg(210, 130, options), index, {20, 30, 90, 70});
  CHECK(decoders.is_right(test::make_jpeg(130, 90), index, {20, 30, 60, 50}) == true);
}

TEST_CASE("damage behind an index gives what libjpeg gives, or an error, and never what lies outside", "[indexed]") {
  std::mt19937 random(5);
  Decoders decoders;
  for (int i = 0; i < 200; ++i) {
    JpegOptions options;
    options.restart_interval = i % 2 * 4, options.seed = static_cast<uint32_t>(i % 10);
    Bytes jpeg = test::make_jpeg(160, 120, options);
    const Bytes index = decoders.index_of(jpeg);
    REQUIRE(helps(index));
    const size_t scan = scan_of(jpeg);
    for (int change = 0; change < 1 + i % 4; ++change)
      jpeg[scan + random() % (jpeg.size() - scan)] = static_cast<uint8_t>(random());
    if (i % 5 == 0) jpeg.resize(scan + random() % (jpeg.size() - scan));
    (void)decoders.is_right(jpeg, index, box_in(160, 120, random), i % 3 == 0);
  }
}

TEST_CASE("an index counts the zeroes that are stuffed into a scan, and its markers", "[indexed]") {
  using namespace image::baseline;
  const Bytes scan = {0x11, 0xFF, 0x00, 0x22, 0xFF, 0xD0, 0x33, 0xFF, 0x00, 0xFF, 0x00, 0x44, 0xFF, 0xD9};
  // As they are counted without zeroes: 11 FF 22 FF D0 33 FF FF 44.
  const std::vector<std::pair<uint64_t, size_t>> places = {{0, 0}, {1, 1}, {2, 3}, {3, 4},
                                                           {5, 6}, {6, 7}, {7, 9}, {8, 11}};
  const ScanSpacing spacing{2, static_cast<uint32_t>(places.size())};
  Bytes index(spacing.bytes());
  ScanIndexWriter writer(index, spacing);
  for (const auto& [plain, stored] : places)
    REQUIRE(writer.add({plain * 8 + plain % 8, {static_cast<int>(plain) * 100, -5, -2048}}));
  CHECK_FALSE(writer.add({80, {}}));
  CHECK_FALSE(ScanIndex::has_points(index));
  REQUIRE(writer.finish(scan));
  CHECK_FALSE(ScanIndex::view(index, 14));
  CHECK_FALSE(ScanIndex::view(index, 17));
  const auto made = ScanIndex::view(index, 15);
  REQUIRE(made);
  for (uint32_t i = 0; i < places.size(); ++i) {
    const auto& [plain, stored] = places[i];
    const ScanPoint point = made->point(i);
    CHECK(point.bit == stored * 8 + plain % 8);
    CHECK(point.predicted == std::array{static_cast<int>(plain) * 100, -5, -2048});
  }
  Bytes wide(spacing.bytes());
  CHECK_FALSE(ScanIndexWriter(wide, spacing).add({0, {2048, 0, 0}}));
  CHECK_FALSE(ScanIndexWriter(wide, spacing).add({uint64_t{1} << 28, {}}));
  ScanIndexWriter behind(wide, {2, 1});
  REQUIRE(behind.add({8 * 100, {}}));
  CHECK_FALSE(behind.finish(scan));
  CHECK_FALSE(ScanIndex::has_points(wide));
}

TEST_CASE("an index takes a fortieth of a scan at the most", "[indexed]") {
  using image::baseline::spacing_of;
  for (const size_t coded : {0, 100, 319, 320, 639, 640, 5000, 100'000}) {
    for (const uint64_t mcus : {0, 1, 2, 7, 768, 100'000}) {
      const auto spacing = spacing_of(mcus, coded);
      CAPTURE(coded, mcus, spacing.mcus, spacing.points);
      CHECK((spacing.points == 0) == (mcus == 0 || coded < 320));
      CHECK(spacing.points * 320 <= coded);
      if (spacing.points > 0) CHECK(uint64_t{spacing.mcus} * spacing.points >= mcus);
      if (spacing.points > 0) CHECK(uint64_t{spacing.mcus} * (spacing.points - 1) < mcus);
    }
  }
  CHECK(spacing_of(768, size_t{1} << 29).points == 0);
}

}  // namespace spdld::indexed_test
