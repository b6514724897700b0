// Planes of a box by a JPEG's packed coefficients: libjpeg's samples; and damaged ones do no harm.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/image/codecs/baseline/inverse_dct.h"
#include "daemon/media/image/codecs/baseline/packed_blocks.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/media/image/jpeg/both_decoders.h"
#include "tests/media/image/jpeg/targets.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::packed_test {
namespace {

using Bytes = std::vector<uint8_t>;
using test::box_in;
using test::JpegOptions;
using test::PlanesMemory;
using test::Subsampling;

// A packed picture. Its memory is exactly as large, so that sanitizers see what goes beyond.
struct Packed {
  Bytes bytes;
  PlanesShape shape;
};

class Decoders {
 public:
  // Empty: the picture has no packed form. The planes of the whole picture have to be libjpeg's.
  Packed pack(const Bytes& jpeg, bool strict = false) {
    if (!own_->open(jpeg, true, strict) || !own_->planes()) return {};
    const PlanesShape shape = *own_->planes();
    PlanesMemory had(shape, 0x77), want(shape, 0x77);
    std::span<const uint8_t> packed;
    const Status decoded = own_->decode_and_pack(had.data(), packed);
    REQUIRE(libjpeg_->open(jpeg, true, strict));
    CHECK(bool(decoded) == bool(libjpeg_->decode_planes(want.data())));
    if (!decoded) return {};
    CHECK(test::same_samples(had, want, {0, 0, shape.picture.width, shape.picture.height}));
    return {Bytes(packed.begin(), packed.end()), shape};
  }
  // Whether a box has libjpeg's samples. None: it gave an error.
  std::optional<bool> is_right(const Bytes& jpeg, const Packed& packed, const std::optional<Box>& box) {
    if (!own_->open_packed(packed.bytes, packed.shape)) return std::nullopt;
    REQUIRE(own_->planes() == packed.shape);
    CHECK_FALSE(own_->planes(2));
    PlanesMemory had(packed.shape, 0x77), want(packed.shape, 0x77);
    const Status decoded = box ? own_->decode_planes(*box, had.data()) : own_->decode_planes(had.data());
    if (!decoded) CHECK(decoded.error().trouble == Trouble::kInternal);
    if (!decoded) return std::nullopt;
    if (!libjpeg_->open(jpeg, true) || !libjpeg_->decode_planes(want.data())) return std::nullopt;
    if (!box) return std::memcmp(had.data(), want.data(), had.size()) == 0;
    return test::same_samples(had, want, *box);
  }

 private:
  std::unique_ptr<image::ImageDecoder> own_ = image::make_jpeg_decoder(),
                                       libjpeg_ = image::make_jpeg_decoder({.only_libjpeg = true});
};

}  // namespace

TEST_CASE("boxes of packed coefficients have libjpeg's samples", "[packed]") {
  const auto kind = GENERATE(from_range(std::begin(test::kPlanesKinds), std::end(test::kPlanesKinds)));
  const int progression = GENERATE(-1, 0, 1, 2, 3);
  std::mt19937 random(7);
  Decoders decoders;
  for (const int quality : {10, 50, 90, 97, 100}) {
    for (const int restart_interval : {0, 3}) {
      JpegOptions options;
      options.quality = quality, options.subsampling = kind.subsampling, options.grey = kind.grey;
      options.restart_interval = restart_interval, options.progressive = progression >= 0;
      options.progression = std::max(progression, 0);
      options.seed = static_cast<uint32_t>(random());
      const int width = 1 + static_cast<int>(random() % 300), height = 1 + static_cast<int>(random() % 200);
      const Bytes jpeg = test::make_jpeg(width, height, options);
      CAPTURE(kind.grey, static_cast<int>(kind.subsampling), quality, restart_interval, width, height, progression);
      const Packed packed = decoders.pack(jpeg, random() % 2 == 0);
      REQUIRE_FALSE(packed.bytes.empty());
      for (int i = 0; i < 6; ++i) CHECK(decoders.is_right(jpeg, packed, box_in(width, height, random)) == true);
      CHECK(decoders.is_right(jpeg, packed, Box{0, 0, width, height}) == true);
      CHECK(decoders.is_right(jpeg, packed, std::nullopt) == true);
    }
  }
}

TEST_CASE("boxes at every offset from an MCU's edge have libjpeg's samples by packed coefficients", "[packed]") {
  const auto subsampling = GENERATE(Subsampling::k420, Subsampling::k422, Subsampling::k444, Subsampling::k440);
  JpegOptions options;
  options.subsampling = subsampling, options.quality = 95;
  const Bytes jpeg = test::make_jpeg(310, 75, options);
  Decoders decoders;
  const Packed packed = decoders.pack(jpeg);
  int wrong = 0;
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 34; ++x)
      for (const int side : {1, 16, 41})
        wrong += decoders.is_right(jpeg, packed, Box{115 + x, 14 + y, side, std::min(side, 75 - 14 - y)}) != true;
  CHECK(wrong == 0);
}

TEST_CASE("packed coefficients have libjpeg's samples on every instruction set", "[packed]") {
  std::mt19937 random(3);
  const Bytes jpeg = test::make_jpeg(333, 222), grey = test::make_jpeg(250, 180, test::coded(1, Subsampling::k444));
  Packed first;
  test::on_every_target([&](int64_t target) {
    Decoders decoders;
    const Packed packed = decoders.pack(jpeg), of_grey = decoders.pack(grey);
    REQUIRE(packed.bytes.empty() == (target == HWY_SCALAR));
    if (target == HWY_SCALAR) {
      CHECK_FALSE(decoders.is_right(jpeg, first, Box{0, 0, 9, 9}));
      return;
    }
    if (first.bytes.empty()) first = packed;
    CHECK(packed.bytes == first.bytes);
    for (int i = 0; i < 10; ++i) {
      CHECK(decoders.is_right(jpeg, packed, box_in(333, 222, random)) == true);
      CHECK(decoders.is_right(grey, of_grey, box_in(250, 180, random)) == true);
    }
  });
}

TEST_CASE("luma alone is packed where nothing else is wanted", "[packed]") {
  const Bytes jpeg = test::make_jpeg(200, 150);
  const auto decoder = image::make_jpeg_decoder();
  REQUIRE(decoder->open(jpeg, true, false, {image::Colours::kGrey, 8}));
  const PlanesShape shape = *decoder->planes();
  PlanesMemory whole(shape, 0), some(shape, 0);
  std::span<const uint8_t> packed;
  REQUIRE(decoder->decode_and_pack(whole.data(), packed));
  const Bytes kept(packed.begin(), packed.end());
  REQUIRE(decoder->open_packed(kept, shape));
  REQUIRE(decoder->decode_planes({20, 30, 100, 90}, some.data()));
  PlanesView whole_view, some_view;
  REQUIRE(view_planes(whole.data(), whole.size(), whole_view));
  REQUIRE(view_planes(some.data(), some.size(), some_view));
  CHECK(test::same_samples(some_view, whole_view, {20, 30, 100, 90}));
}

TEST_CASE("pictures that libjpeg decodes are not packed", "[packed]") {
  JpegOptions options;
  SECTION("a scan for each component") { options.separate_scans = true; }
  SECTION("arithmetic coding") { options.arithmetic = true; }
  SECTION("inks") { options.cmyk = true; }
  SECTION("turned") { options.exif_orientation = 6; }
  SECTION("unfinished") { options.progressive = options.unfinished = true; }
  CHECK(Decoders().pack(test::make_jpeg(100, 80, options)).bytes.empty());
  Bytes damaged = test::make_jpeg(200, 160);
  std::fill(damaged.end() - 400, damaged.end() - 300, uint8_t{0xFE});
  CHECK(Decoders().pack(damaged).bytes.empty());
}

TEST_CASE("damaged packed coefficients never read or write outside", "[packed]") {
  std::mt19937 random(11);
  const Bytes jpeg = test::make_jpeg(210, 130, {.quality = 92});
  Decoders decoders;
  const Packed packed = decoders.pack(jpeg);
  const size_t tables = 4 + 3 * (8 + 128) + (17 + 9 + 9 + 1) * 4;
  for (size_t i = 0; i < tables + 200; ++i) {
    for (const uint8_t flip : {0x01, 0x80, 0xFF}) {
      Packed changed = packed;
      changed.bytes[i] = static_cast<uint8_t>(changed.bytes[i] ^ flip);
      (void)decoders.is_right(jpeg, changed, Box{0, 0, 210, 130});
    }
  }
  for (size_t size = 0; size < packed.bytes.size(); size += size < tables + 20 ? 1 : 41) {
    Packed cut = packed;
    cut.bytes.resize(size);
    CHECK_FALSE(decoders.is_right(jpeg, cut, Box{0, 0, 210, 130}));
  }
  for (int i = 0; i < 500; ++i) {
    Packed noise = packed;
    const size_t from = i % 2 == 0 ? tables : 4 + random() % tables;
    std::generate(noise.bytes.begin() + static_cast<ptrdiff_t>(from), noise.bytes.end(),
                  [&] { return static_cast<uint8_t>(random()); });
    (void)decoders.is_right(jpeg, noise, box_in(210, 130, random));
  }
  // What is packed afterwards is whole: nothing is left of the damaged blocks.
  CHECK(decoders.is_right(jpeg, packed, Box{0, 0, 210, 130}) == true);
  for (const PlanesShape& shape : {PlanesShape{{226, 130}, 2, 2, false},
                                   {{210, 140}, 2, 2, false},
                                   {{210, 130}, 1, 2, false},
                                   {{210, 130}, 1, 1, true}})
    CHECK(decoders.is_right(jpeg, {packed.bytes, shape}, Box{0, 0, 9, 9}) == std::nullopt);
}

TEST_CASE("blocks come out as they were packed, whatever their values", "[packed]") {
  using namespace image::baseline;
  std::mt19937 random(5);
  const size_t in_group = blocks_in_group(), stride = in_group * kBlockSide;
  if (in_group == 0) return;
  constexpr size_t kBlocks = 40;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::array<int16_t, kBlockSamples>> blocks(kBlocks);
    Bytes heads, places, dcs, values;
    for (size_t i = 0; i < kBlocks; ++i) {
      const int bits = static_cast<int>(random() % 13), some = static_cast<int>(random() % 64);
      for (size_t k = 0; k < kBlockSamples; ++k) {
        const int value = static_cast<int>(random()) >> (32 - std::max(bits, 1));
        blocks[i][k] = static_cast<int16_t>(bits == 0 || static_cast<int>(random() % 64) > some ? 0 : value);
      }
      blocks[i][0] = static_cast<int16_t>(random());
      std::array<uint8_t, kPackedBytesMax + kPackedSlackBytes> packed;
      const auto head = pack_block(blocks[i].data(), kBlockSide, packed.data());
      REQUIRE(head);
      const auto put = [](uint32_t number, size_t count, Bytes& to) {
        for (size_t byte = 0; byte < count; ++byte) to.push_back(static_cast<uint8_t>(number >> 8 * byte));
      };
      if (i % kSpanBlocks == 0) put(static_cast<uint32_t>(values.size()), 4, places);
      put(*head, 4, heads), put(static_cast<uint16_t>(blocks[i][0]), 2, dcs);
      values.insert(values.end(), packed.data(), packed.data() + value_bytes(*head));
    }
    Bytes padded = values;
    padded.resize(values.size() + kPackedSlackBytes);
    const size_t first = random() % kBlocks, count = 1 + random() % (kBlocks - first);
    std::vector<int16_t> memory((count + in_group) / in_group * group_samples(in_group) + 32);
    int16_t* const groups = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) / 2;
    Bytes last(count);
    const PackedRow row{heads, places, dcs, std::span(padded).first(values.size())};
    REQUIRE(unpack_blocks(row, first, first + count, groups, last.data()));
    int wrong = 0;
    for (size_t i = 0; i < count; ++i) {
      const int16_t* const had = groups + i / in_group * group_samples(in_group) + i % in_group * kBlockSide;
      for (size_t k = 0; k < kBlockSamples; ++k)
        wrong += had[k / kBlockSide * stride + k % kBlockSide] != blocks[first + i][k];
    }
    CHECK(wrong == 0);
    if (values.empty()) continue;
    std::fill(memory.begin(), memory.end(), int16_t{0});
    const PackedRow cut{heads, places, dcs, std::span(padded).first(values.size() - 1)};
    std::vector<int16_t> all((kBlocks + in_group) * group_samples(1) + 32);
    int16_t* const all_groups = all.data() + (64 - reinterpret_cast<uintptr_t>(all.data()) % 64) / 2;
    Bytes all_last(kBlocks);
    CHECK_FALSE(unpack_blocks(cut, 0, kBlocks, all_groups, all_last.data()));
  }
  std::array<int16_t, kBlockSamples> wide{};
  std::array<uint8_t, kPackedBytesMax + kPackedSlackBytes> packed;
  for (const auto& [value, fits] :
       {std::pair(2047, true), {-2048, true}, {2048, false}, {-2049, false}, {-32768, false}}) {
    wide[63] = static_cast<int16_t>(value);
    CHECK(pack_block(wide.data(), kBlockSide, packed.data()).has_value() == fits);
  }
}

}  // namespace spdld::packed_test
