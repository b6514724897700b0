// Reduced planes: libjpeg's raw output at a smaller scale, whose samples are means of the picture's.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
// Needs <cstdio> before it.
#include <jpeglib.h>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld {
namespace {

using Bytes = std::vector<uint8_t>;
using test::JpegOptions;
using test::PlanesMemory;
using test::Subsampling;

// Empty: what decode_planes() promises of `box` is there.
std::string fault_of(const PlanesView& view, const std::vector<test::RawPlane>& wanted, const Box& box, int reduction) {
  for (size_t c = 0; c < wanted.size(); ++c) {
    const Size size = view.shape.plane(static_cast<int>(c));
    if (size != Size{wanted[c].width, wanted[c].height}) return "size of plane " + std::to_string(c);
    const int across = reduction * (c == 0 ? 1 : view.shape.chroma_across);
    const int down = reduction * (c == 0 ? 1 : view.shape.chroma_down);
    const int beside_x = c > 0 && view.shape.chroma_across == 2, beside_y = c > 0 && view.shape.chroma_down == 2;
    const int left = std::max(0, box.x / across - beside_x), top = std::max(0, box.y / down - beside_y);
    const int right = std::min(size.width, (box.x + box.width - 1) / across + 1 + beside_x);
    const int bottom = std::min(size.height, (box.y + box.height - 1) / down + 1 + beside_y);
    for (int y = top; y < bottom; ++y) {
      const uint8_t* row = view.plane[c] + view.stride_bytes[c] * static_cast<size_t>(y);
      for (int x = left; x < right; ++x) {
        if (row[x] != wanted[c].at(x, y))
          return "plane " + std::to_string(c) + " at " + std::to_string(x) + "," + std::to_string(y);
      }
    }
  }
  return {};
}

Bytes jpeg_of(int kind, Subsampling subsampling, int width, int height) {
  JpegOptions options = test::coded(kind, subsampling);
  options.seed = static_cast<uint32_t>(width + height);
  return test::make_jpeg(width, height, options);
}

TEST_CASE("reduced planes are libjpeg's raw output at that scale", "[decode]") {
  const auto subsampling = GENERATE(Subsampling::k444, Subsampling::k422, Subsampling::k420, Subsampling::k440);
  const int kind = GENERATE(range(0, 6));
  auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(static_cast<unsigned>(kind) * 10 + static_cast<unsigned>(subsampling));
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int picture = 0; picture < 8; ++picture) {
    const Bytes jpeg = jpeg_of(kind, subsampling, picture == 0 ? 1 : 1 + below(200), picture == 1 ? 1 : 1 + below(200));
    for (const int reduction : {2, 4, 8, 1}) {
      const auto size = decoder->open(jpeg, true);
      const auto shape = decoder->planes(reduction);
      CAPTURE(kind, static_cast<int>(subsampling), size->width, size->height, reduction);
      const bool is_halved = subsampling == Subsampling::k422 || subsampling == Subsampling::k440;
      REQUIRE(shape.has_value() == (kind == 1 || !is_halved || reduction < 8));
      if (!shape) continue;
      CHECK(shape->picture ==
            Size{(size->width + reduction - 1) / reduction, (size->height + reduction - 1) / reduction});
      if (subsampling == Subsampling::k420 && kind != 1) CHECK(int{shape->chroma_across} == (reduction == 1 ? 2 : 1));
      const auto wanted = test::raw_plainly(jpeg, reduction);
      PlanesMemory memory(*shape, 0);
      for (int i = 0; i < 12; ++i) {
        Box box{0, 0, 1 + below(size->width), 1 + below(size->height)};
        if (i == 11) box = {0, 0, size->width, size->height};
        box.x = below(size->width - box.width + 1), box.y = below(size->height - box.height + 1);
        std::memset(memory.data(), i % 2 == 0 ? 0x77 : 0xEE, memory.size());
        REQUIRE(decoder->decode_planes(box, reduction, memory.data()));
        PlanesView view;
        REQUIRE(view_planes(memory.data(), memory.size(), view));
        CAPTURE(box.x, box.y, box.width, box.height);
        REQUIRE(fault_of(view, wanted, box, reduction) == "");
      }
    }
  }
}

// What the resampling relies on: where each sample's middle is.
TEST_CASE("a reduced sample is the mean of its pixels", "[decode]") {
  const auto subsampling = GENERATE(Subsampling::k444, Subsampling::k422, Subsampling::k420, Subsampling::k440);
  auto decoder = image::make_jpeg_decoder();
  const Bytes jpeg = jpeg_of(0, subsampling, 211, 173);
  const auto whole = test::raw_plainly(jpeg, 1);
  for (const int reduction : {2, 4, 8}) {
    REQUIRE(decoder->open(jpeg, true));
    const auto shape = decoder->planes(reduction);
    if (!shape) continue;
    PlanesMemory memory(*shape, 0);
    PlanesView view;
    REQUIRE(decoder->decode_planes({0, 0, 211, 173}, reduction, memory.data()));
    REQUIRE(view_planes(memory.data(), memory.size(), view));
    double farthest = 0;
    for (size_t c = 0; c < 3; ++c) {
      const Size size = view.shape.plane(static_cast<int>(c));
      const int across = std::max(1, whole[c].width / (size.width - 1));
      const int down = std::max(1, whole[c].height / (size.height - 1));
      for (int y = 0; y < whole[c].height / down; ++y) {
        for (int x = 0; x < whole[c].width / across; ++x) {
          double sum = 0;
          bool is_cut = false;  // libjpeg cuts values off behind the mean, not before
          for (int v = 0; v < down; ++v) {
            for (int u = 0; u < across; ++u) {
              const int sample = whole[c].at(x * across + u, y * down + v);
              sum += sample;
              is_cut |= sample == 0 || sample == 255;
            }
          }
          if (is_cut) continue;
          const int got = view.plane[c][view.stride_bytes[c] * static_cast<size_t>(y) + static_cast<size_t>(x)];
          farthest = std::max(farthest, std::abs(got - sum / (across * down)));
        }
      }
    }
    CAPTURE(static_cast<int>(subsampling), reduction);
    CHECK(farthest < 2);
  }
}

TEST_CASE("a reduced picture leaves no trace in the next", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  const Bytes jpeg = jpeg_of(0, Subsampling::k420, 150, 130);
  PixelRows before, after;
  REQUIRE(decoder->open(jpeg, true));
  REQUIRE(decoder->decode({0, 0, 150, 130}, before));
  REQUIRE(decoder->open(jpeg, true));
  PlanesMemory memory(*decoder->planes(4), 0), whole(*decoder->planes(), 0), again(*decoder->planes(), 0);
  REQUIRE(decoder->decode_planes(whole.data()));
  REQUIRE(decoder->decode_planes({10, 10, 90, 70}, 4, memory.data()));
  REQUIRE(decoder->decode({0, 0, 150, 130}, after));  // the header is read again for each
  REQUIRE(decoder->decode_planes(again.data()));
  int differing = 0;
  for (int y = 0; y < 130; ++y) differing += std::memcmp(before.row(y), after.row(y), 3 * 150) != 0;
  CHECK(differing == 0);
  CHECK(std::memcmp(whole.data(), again.data(), whole.size()) == 0);
}

TEST_CASE("reductions that there are not", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  const Bytes jpeg = jpeg_of(0, Subsampling::k420, 50, 40);
  REQUIRE(decoder->open(jpeg, true));
  alignas(64) uint8_t nothing[64];
  for (const int reduction : {-1, 0, 3, 5, 16, 1 << 30}) {
    CHECK_FALSE(decoder->planes(reduction));
    const auto status = decoder->decode_planes({0, 0, 50, 40}, reduction, nothing);
    CHECK((!status && status.error().trouble == Trouble::kInternal));
  }
  JpegOptions options;
  options.subsampling = Subsampling::k411;
  const Bytes odd = test::make_jpeg(50, 40, options);
  options.subsampling = Subsampling::k420;
  options.exif_orientation = 6;
  const Bytes turned = test::make_jpeg(50, 40, options);
  for (const auto& other : {odd, turned}) {
    REQUIRE(decoder->open(other, true));
    for (const int reduction : {1, 2, 4, 8}) CHECK_FALSE(decoder->planes(reduction));
  }
  REQUIRE(decoder->open(turned, false));
  for (const int reduction : {1, 2, 4, 8}) CHECK(decoder->planes(reduction));
}

}  // namespace
}  // namespace spdld
