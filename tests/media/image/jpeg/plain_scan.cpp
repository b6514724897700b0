// The baseline decoder: it takes what encoders write, gives libjpeg's samples on every instruction set, and leaves
// everything else to libjpeg, so that damage never changes what a picture becomes.
#include "daemon/media/image/jpeg/plain_scan.h"

#include <hwy/targets.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/image_decoder.h"
#include "daemon/media/image/jpeg/codec.h"
#include "daemon/media/image/jpeg/raw_planes.h"
#include "tests/media/image/jpeg/planes_memory.h"
#include "tests/support/jpeg_maker.h"

namespace spdld::plain_scan_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::PlainScan;
using test::JpegOptions;
using test::PlanesMemory;
using test::Subsampling;
using Outcome = PlainScan::Outcome;

void read_header(jpeg_decompress_struct& jpeg, Bytes& bytes) {
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
}

// What the baseline decoder alone says to a whole picture; none: libjpeg takes not even its header.
std::optional<Outcome> outcome_of(Bytes jpeg, bool to_end = true) {
  image::Codec codec({});
  image::PlanesShapes shapes;
  if (!codec.attempt(read_header, jpeg) || !codec.attempt(image::find_planes_shapes, shapes)) return std::nullopt;
  if (!shapes[0]) return Outcome::kLeft;
  PlanesMemory memory(*shapes[0], 0);
  const std::span<const uint8_t> coded = std::span(jpeg).last(codec.jpeg().src->bytes_in_buffer);
  return PlainScan().read(codec.jpeg(), coded,
                          {*shapes[0], PlanesLayout(*shapes[0]), memory.data(), std::nullopt, to_end},
                          [](uint64_t) { return true; });
}

// Both decoders' answers to a picture, whole and in a box.
class Both {
 public:
  // Empty: they are the same.
  std::string difference(const Bytes& jpeg, const Box& box, bool strict) {
    const auto opened = own_->open(jpeg, true, strict), wanted = libjpeg_->open(jpeg, true, strict);
    if (bool(opened) != bool(wanted)) return "open";
    if (!opened) return opened.error().message == wanted.error().message ? "" : "why it can't be opened";
    if (own_->planes() != libjpeg_->planes()) return "shape";
    if (!own_->planes()) return {};
    const PlanesShape shape = *own_->planes();
    for (const bool whole : {true, false}) {
      PlanesMemory had(shape, 0x77), want(shape, 0x77);
      const Status decoded = whole ? own_->decode_planes(had.data()) : own_->decode_planes(box, 1, had.data());
      const Status by_libjpeg =
          whole ? libjpeg_->decode_planes(want.data()) : libjpeg_->decode_planes(box, 1, want.data());
      if (bool(decoded) != bool(by_libjpeg)) return "verdict";
      if (!decoded && decoded.error().message != by_libjpeg.error().message) return "reason";
      if (!decoded) continue;
      PlanesView had_view, want_view;
      if (!view_planes(had.data(), had.size(), had_view) || !view_planes(want.data(), want.size(), want_view))
        return "header";
      const bool same =
          whole ? std::memcmp(had.data(), want.data(), had.size()) == 0 : test::same_samples(had_view, want_view, box);
      if (!same) return whole ? "planes" : "samples of the box";
    }
    return {};
  }

 private:
  std::unique_ptr<image::ImageDecoder> own_ = image::make_jpeg_decoder(),
                                       libjpeg_ = image::make_jpeg_decoder({.only_libjpeg = true});
};

Box box_in(int width, int height, std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  Box box{0, 0, 1 + below(width), 1 + below(height)};
  box.x = below(width - box.width + 1), box.y = below(height - box.height + 1);
  return box;
}

// Calls check() with each instruction set of this machine, that of plain code among them.
template <typename Check>
void on_every_target(Check check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    CAPTURE(hwy::TargetName(target));
    check(target);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
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
      CHECK(outcome_of(jpeg) == Outcome::kDone);
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
  on_every_target([&](int64_t target) {
    Both both;
    int differing = 0, left = 0;
    for (const Bytes& jpeg : pictures) {
      differing += !both.difference(jpeg, {0, 0, 1, 1}, false).empty();
      left += outcome_of(jpeg) != Outcome::kDone;
    }
    CHECK(differing == 0);
    CHECK(left == (target == HWY_SCALAR ? 40 : 0));
  });
}

TEST_CASE("progressive, arithmetic and other JPEGs are libjpeg's", "[plain]") {
  JpegOptions options;
  SECTION("progressive") { options.progressive = true; }
  SECTION("a scan for each component") { options.separate_scans = true; }
  SECTION("arithmetic coding") { options.arithmetic = true; }
  SECTION("inks") { options.cmyk = true; }
  CHECK(outcome_of(test::make_jpeg(60, 50, options)) == Outcome::kLeft);
}

TEST_CASE("a scan that does not end where the picture does is libjpeg's, where damage is refused", "[plain]") {
  const Bytes jpeg = test::make_jpeg(60, 50);
  Bytes longer = jpeg;
  longer.insert(longer.end() - 2, {0x12, 0x34});
  CHECK(outcome_of(jpeg, true) == Outcome::kDone);
  CHECK(outcome_of(longer, true) == Outcome::kLeft);
  CHECK(outcome_of(longer, false) == Outcome::kDone);
}

TEST_CASE("damage is libjpeg's to answer: the verdict, its reason and every sample are the same", "[plain]") {
  const int restart_interval = GENERATE(0, 2);
  const bool strict = GENERATE(false, true);
  std::mt19937 random(static_cast<unsigned>(restart_interval) * 2 + strict);
  const auto byte = [&] { return static_cast<uint8_t>(random()); };
  Both both;
  int differing = 0, done = 0, left = 0;
  for (int i = 0; i < 1500; ++i) {
    JpegOptions options;
    options.quality = 1 + static_cast<int>(random() % 100), options.restart_interval = restart_interval;
    options.subsampling = i % 2 ? Subsampling::k444 : Subsampling::k420, options.grey = i % 5 == 0;
    options.optimized = i % 3 == 0, options.seed = static_cast<uint32_t>(i % 50);
    Bytes jpeg = test::make_jpeg(56, 40, options);
    const size_t head = i % 3 == 2 ? 2 : jpeg.size() * 3 / 5;  // tables too, or coded data alone
    for (int change = 0; change < 1 + i % 3; ++change) {
      const size_t at = head + random() % (jpeg.size() - head - 2);
      if (i % 4 == 0) {
        jpeg.erase(jpeg.begin() + static_cast<ptrdiff_t>(at));
      } else if (i % 4 == 1) {
        jpeg.insert(jpeg.begin() + static_cast<ptrdiff_t>(at), byte());
      } else {
        jpeg[at] = i % 4 == 2 ? byte() : static_cast<uint8_t>(jpeg[at] ^ 1u << random() % 8);
      }
    }
    const std::string difference = both.difference(jpeg, box_in(56, 40, random), strict);
    if (!difference.empty()) UNSCOPED_INFO("picture " << i << ": " << difference);
    differing += !difference.empty();
    const auto outcome = outcome_of(jpeg, strict);
    done += outcome == Outcome::kDone, left += outcome == Outcome::kLeft;
  }
  CHECK(differing == 0);
  CHECK(done > 100);  // damage that nobody can see
  CHECK(left > 100);
}

}  // namespace spdld::plain_scan_test
