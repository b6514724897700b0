// What a picture costs is bounded: by its coded bytes before anything is decoded, and by limits of CPU time and memory
// while it is decoded. Honest pictures of extreme shape are decoded all the same.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/sample_memory.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::limits_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Catch::Matchers::Contains;
using media::DecodeLimits;

// A clock that goes on by a millisecond whenever it is looked at.
uint64_t looks = 0;
uint64_t clock_of_looks() { return 1 + ++looks * 1'000'000; }

// The frame header's place; SOF0 to SOF2, or SOF9 and SOF10 of arithmetic coding.
size_t frame_start(const Bytes& jpeg) {
  for (size_t i = 2; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xFF && (jpeg[i + 1] & 0xF4) == 0xC0 && jpeg[i + 1] != 0xC8) return i;
  }
  FAIL("no frame header");
  return 0;
}

void claim_size(Bytes& jpeg, int width, int height) {
  const size_t i = frame_start(jpeg);
  jpeg[i + 5] = static_cast<uint8_t>(height >> 8), jpeg[i + 6] = static_cast<uint8_t>(height);
  jpeg[i + 7] = static_cast<uint8_t>(width >> 8), jpeg[i + 8] = static_cast<uint8_t>(width);
}

// Up to the coded data of its first scan.
Bytes head_of(const Bytes& jpeg) {
  for (size_t i = 2; i + 3 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xFF || jpeg[i + 1] != 0xDA) continue;
    const size_t end = i + 2 + (static_cast<size_t>(jpeg[i + 2]) << 8 | jpeg[i + 3]);
    return {jpeg.begin(), jpeg.begin() + static_cast<ptrdiff_t>(end)};
  }
  FAIL("no scan");
  return {};
}

void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

test::JpegOptions flat(bool progressive, bool grey, bool arithmetic = false) {
  test::JpegOptions options;
  options.flat = true;
  options.progressive = progressive;
  options.grey = grey;
  options.arithmetic = arithmetic;
  options.subsampling = test::Subsampling::k444;
  return options;
}

// A grey picture whose first scan pays a bit for each block, and whose other scans pay fifteen bits for 32,767 blocks.
// `refined`: each of these scans looks at all coefficients of a block again.
Bytes scans_of_empty_blocks(int width, int height, int scans, bool refined) {
  Bytes jpeg = head_of(test::make_jpeg(64, 64, flat(true, true)));
  claim_size(jpeg, width, height);
  const size_t blocks = static_cast<size_t>((width + 7) / 8) * static_cast<size_t>((height + 7) / 8);
  jpeg.insert(jpeg.end(), blocks / 8 + 8, 0);
  // One code of a bit for AC coefficients: the end of so many blocks as the next 14 bits say.
  append(jpeg, {0xFF, 0xC4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xE0});
  for (int i = 0; i < scans; ++i) {
    append(jpeg, {0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, static_cast<uint8_t>(refined ? 0x10 : 0x01)});
    jpeg.insert(jpeg.end(), blocks / 32767 * 15 / 8 + 4, 0x7E);
  }
  append(jpeg, {0xFF, 0xD9});
  return jpeg;
}

// The sentence by which the decoder refuses the picture before it decodes anything.
std::string refusal(const Bytes& jpeg) {
  looks = 0;
  auto decoder = image::make_jpeg_decoder({.cpu_ns = clock_of_looks});
  const auto size = decoder->open(jpeg, true);
  CHECK(looks == 0);
  if (size) return "accepted";
  CHECK(size.error().trouble == Trouble::kContent);
  return size.error().message;
}

bool is_decoded(const Bytes& jpeg, const DecodeLimits& limits = {}) {
  auto decoder = image::make_jpeg_decoder(limits);
  const auto size = decoder->open(jpeg, true);
  PixelRows rows;
  return size && decoder->decode({0, 0, 16, 16}, rows);
}

TEST_CASE("many scans in few bytes are refused before they are decoded", "[decode]") {
  for (const bool refined : {false, true}) {
    CHECK_THAT(refusal(scans_of_empty_blocks(13000, 13000, 99, refined)),
               Contains("13000 x 13000 pixels in 100 scans") && Contains("more work"));
    CHECK_THAT(refusal(scans_of_empty_blocks(65500, 2700, 60, refined)), Contains("more work"));
    CHECK_THAT(refusal(scans_of_empty_blocks(4000, 4000, 99, refined)), Contains("more work"));
    CHECK_THAT(refusal(scans_of_empty_blocks(64, 64, 100, refined)), Contains("101 scans, more than any real picture"));
    CHECK_THAT(refusal(scans_of_empty_blocks(64, 64, 700, refined)), Contains("701 scans"));
  }
  CHECK(refusal(scans_of_empty_blocks(640, 480, 20, true)) == "accepted");
}

TEST_CASE("scans are counted where libjpeg finds them, behind whatever it passes over", "[decode]") {
  Bytes jpeg = scans_of_empty_blocks(4000, 4000, 1, true);
  jpeg.resize(jpeg.size() - 2);
  const Bytes scan = {0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0x10, 0x7E, 0x7E, 0x7E};
  const std::vector<Bytes> fillings = {{},
                                       {0xFF, 0xD3},
                                       {0xFF, 0xFF, 0xFF},
                                       {0xFF, 0x00, 0x55},
                                       {0xFF, 0xFE, 0, 4, 0xFF, 0xD9},
                                       {0xFF, 0x02, 0xFF, 0xFF}};
  for (const Bytes& filling : fillings) {
    Bytes bomb = jpeg;
    for (int i = 0; i < 90; ++i) append(bomb, filling), append(bomb, scan);
    append(bomb, {0xFF, 0xD9});
    CHECK_THAT(refusal(bomb), Contains("in 92 scans"));
  }
}

TEST_CASE("arithmetic coding, which may spend nothing on a block, is bounded as well", "[decode]") {
  for (const bool grey : {false, true}) {
    Bytes bomb = test::make_jpeg(64, 64, flat(true, grey, true));
    claim_size(bomb, 13000, 13000);
    CHECK_THAT(refusal(bomb), Contains("more work"));
    claim_size(bomb, 65500, 2700);
    CHECK_THAT(refusal(bomb), Contains("more work"));
    for (const bool progressive : {false, true}) {
      const Bytes honest = test::make_jpeg(1000, 800, flat(progressive, grey, true));
      CHECK(honest.size() < 8000);
      CHECK(is_decoded(honest));
    }
  }
  auto options = flat(true, false, true);
  options.flat = false;
  CHECK(is_decoded(test::make_jpeg(300, 200, options)));
}

TEST_CASE("other ways to claim much are refused", "[decode]") {
  Bytes later_height = test::make_jpeg(64, 64);  // which a DNL marker behind the scan is to tell
  claim_size(later_height, 65500, 0);
  later_height.resize(later_height.size() - 2);
  append(later_height, {0xFF, 0xDC, 0, 4, 0xFF, 0xDC, 0xFF, 0xD9});
  CHECK_THAT(refusal(later_height), Contains("damaged"));

  test::JpegOptions options = flat(false, false);
  options.restart_interval = 1;
  Bytes restarts = test::make_jpeg(64, 64, options);
  claim_size(restarts, 65500, 65500);
  CHECK_THAT(refusal(restarts), Contains("limit"));
  claim_size(restarts, 12000, 12000);
  CHECK_THAT(refusal(restarts), Contains("can hold"));
}

TEST_CASE("a scan of nothing but restart markers costs one pass over the picture", "[decode]") {
  test::JpegOptions options = flat(false, true);
  options.restart_interval = 1;
  Bytes jpeg = head_of(test::make_jpeg(64, 64, options));
  claim_size(jpeg, 2000, 2000);
  constexpr uint64_t kBlocks = 250 * 250;
  for (uint64_t i = 0; i < kBlocks; ++i) append(jpeg, {0xFF, static_cast<uint8_t>(0xD0 + i % 8)});
  append(jpeg, {0xFF, 0xD9});
  looks = 0;
  auto decoder = image::make_jpeg_decoder({.cpu_ms_max = 1000, .cpu_ns = clock_of_looks});
  REQUIRE(decoder->open(jpeg, true));
  PixelRows rows;
  CHECK(decoder->decode({0, 0, 2000, 2000}, rows));
  CHECK(looks > 0);
  CHECK(looks < 20);
}

TEST_CASE("honest pictures of few bytes are decoded", "[decode]") {
  // 64 million flat pixels: what a block costs a real encoder at the least.
  const Bytes large = test::make_jpeg(8000, 8000, flat(true, true));
  CHECK(large.size() < 400'000);
  CHECK(refusal(large) == "accepted");
  for (const bool grey : {false, true}) {
    for (const bool progressive : {false, true}) {
      for (const int quality : {1, 50, 100}) {
        auto options = flat(progressive, grey);
        options.quality = quality;
        options.subsampling = test::Subsampling::k420;
        for (const Size& size : {Size{1, 1}, {16, 16}, {3000, 2000}, {20000, 16}, {16, 20000}}) {
          INFO("grey " << grey << " progressive " << progressive << " quality " << quality << " " << size.width << " x "
                       << size.height);
          CHECK(refusal(test::make_jpeg(size.width, size.height, options)) == "accepted");
        }
      }
    }
  }
}

TEST_CASE("decoding ends at the limit of CPU time", "[decode]") {
  auto options = flat(false, false);
  options.flat = false;
  for (const bool progressive : {false, true}) {
    options.progressive = progressive;
    const Bytes jpeg = test::make_jpeg(1600, 1600, options), small = test::make_jpeg(64, 48, options);
    looks = 0;
    auto decoder = image::make_jpeg_decoder({.cpu_ms_max = 2, .cpu_ns = clock_of_looks});
    PixelRows rows;
    for (int round = 0; round < 2; ++round) {
      REQUIRE(decoder->open(jpeg, true));
      const auto status = decoder->decode({0, 0, 1600, 1600}, rows);
      REQUIRE(!status);
      CHECK(status.error().trouble == Trouble::kContent);
      CHECK_THAT(status.error().message, Contains("costs too much") && Contains("limits.sample_ms_max"));
      REQUIRE(decoder->open(jpeg, true));
      test::PlanesMemory memory(*decoder->planes(), 0);
      CHECK(!decoder->decode_planes(memory.data()));
      REQUIRE(decoder->open(small, true));
      CHECK(decoder->decode({0, 0, 64, 48}, rows));
    }
    CHECK(looks <= 20);  // a decoding ends when its fourth look tells of more than 2 ms; a small picture has one look
    auto patient = image::make_jpeg_decoder({.cpu_ms_max = 0, .cpu_ns = clock_of_looks});
    REQUIRE(patient->open(jpeg, true));
    CHECK(patient->decode({0, 0, 1600, 1600}, rows));
  }
}

TEST_CASE("the limit of memory counts the decoder's memory and the samples", "[decode]") {
  auto options = flat(true, false);
  const Bytes jpeg = test::make_jpeg(640, 640, options);
  constexpr uint64_t kSamples = 640 * 640 * 3, kCoefficients = 2 * kSamples, kSpare = 400'000;
  const auto decoded = [&](uint64_t bytes_max, bool planes, int height) -> std::string {
    auto decoder = image::make_jpeg_decoder({.bytes_max = bytes_max});
    if (!decoder->open(jpeg, true)) return "not opened";
    test::PlanesMemory memory(*decoder->planes(), 0);
    PixelRows rows;
    const Status status = planes ? decoder->decode_planes(memory.data()) : decoder->decode({0, 0, 640, height}, rows);
    if (!status) CHECK(status.error().trouble == Trouble::kContent);
    return status ? "decoded" : status.error().message;
  };
  for (const bool planes : {false, true}) {
    CHECK(decoded(0, planes, 640) == "decoded");
    CHECK(decoded(kCoefficients + kSamples + kSpare, planes, 640) == "decoded");
    CHECK_THAT(decoded(kCoefficients + kSamples - 1, planes, 640), Contains("limits.sample_bytes_max"));
    CHECK_THAT(decoded(kSamples - 1, planes, 640), Contains("limits.sample_bytes_max"));
  }
  CHECK(decoded(kCoefficients + kSpare, false, 16) == "decoded");
}

TEST_CASE("a decoder asks for the memory of all coefficients, where they lie in memory together, and for rows else",
          "[decode]") {
  constexpr uint64_t kSide = 1600, kRows = kSide * kSide * 3, kCoefficients = 2 * kSide * kSide * 3;
  constexpr uint64_t kAddresses = 3 << 20;  // of the coefficients' rows, in a block for each component
  for (const bool several_scans : {false, true}) {
    for (const bool arithmetic : {false, true}) {
      const Bytes jpeg = test::make_jpeg(
          kSide, kSide,
          {.subsampling = test::Subsampling::k444, .progressive = several_scans, .arithmetic = arithmetic});
      media::SampleMemory memory;
      const auto decoder = image::make_jpeg_decoder({.memory = &memory});
      PixelRows rows;
      memory.begin(nullptr, 0);
      REQUIRE(decoder->open(jpeg, true));
      REQUIRE(decoder->decode({0, 0, kSide, kSide}, rows));
      const uint64_t least = kRows + (several_scans ? kCoefficients + kAddresses : 0);
      CHECK(memory.needed_bytes() >= least);
      CHECK(memory.needed_bytes() <= least * 3 / 2);
      memory.begin(nullptr, 0);
      REQUIRE(decoder->open(jpeg, true));
      REQUIRE(decoder->decode({0, 100, kSide, 16}, rows));  // few rows
      CHECK(memory.needed_bytes() <= least - kRows + kRows / 10);
    }
  }
}

TEST_CASE("a decoder that is lent no memory decodes nothing, and leaves the next picture alone", "[decode]") {
  struct Nobody final : media::SampleMemory::Lender {
    bool lend(uint64_t) override { return false; }
  };
  Nobody nobody;
  const Bytes large = test::make_jpeg(1600, 1600, {.progressive = true}), small = test::make_jpeg(100, 100);
  media::SampleMemory memory(2 << 20);
  const auto decoder = image::make_jpeg_decoder({.memory = &memory});
  PixelRows rows;
  for (int round = 0; round < 2; ++round) {
    memory.begin(&nobody, 0);
    REQUIRE(decoder->open(large, true));
    test::PlanesMemory planes(*decoder->planes(), 0);
    CHECK(!(round == 0 ? decoder->decode({0, 0, 1600, 1600}, rows) : decoder->decode_planes(planes.data())));
    CHECK(memory.lacks_room());
    CHECK(memory.lent_bytes() > 0);
    memory.begin(&nobody, 0);
    REQUIRE(decoder->open(small, true));
    CHECK(decoder->decode({0, 0, 100, 100}, rows));
    CHECK_FALSE(memory.lacks_room());
  }
}

TEST_CASE("after a picture that needs too much memory the next one is decoded", "[decode]") {
  auto decoder = image::make_jpeg_decoder({.bytes_max = 1'000'000});
  const Bytes large = test::make_jpeg(570, 570), small = test::make_jpeg(100, 100);
  PixelRows rows;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(decoder->open(large, true));
    CHECK(!decoder->decode({0, 0, 570, 570}, rows));
    REQUIRE(decoder->open(small, true));
    CHECK(decoder->decode({0, 0, 100, 100}, rows));
  }
}

}  // namespace
}  // namespace spdld::limits_test
