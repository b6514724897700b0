// Bad input gives one sentence of trouble kContent, whatever the box, and leaves the decoder fit for the next picture.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"

namespace spdld {
namespace {

using Bytes = std::vector<uint8_t>;
using Catch::Matchers::Contains;

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

std::string refusal(image::ImageDecoder& decoder, const Bytes& bytes, Trouble trouble = Trouble::kContent) {
  const auto size = decoder.open(bytes, true);
  if (size) return "accepted";
  CHECK(size.error().trouble == trouble);
  return size.error().message;
}

std::string unsupported(image::ImageDecoder& decoder, const Bytes& bytes) {
  const std::string message = refusal(decoder, bytes, Trouble::kUnsupported);
  CHECK_THAT(message, Contains("this build decodes JPEG") && Contains("PNG"));
  return message;
}

// Where SOF0 or SOF2 begins.
size_t frame_start(const Bytes& jpeg) {
  for (size_t i = 2; i + 9 < jpeg.size(); ++i)
    if (jpeg[i] == 0xFF && (jpeg[i + 1] == 0xC0 || jpeg[i + 1] == 0xC2)) return i;
  FAIL("no frame header");
  return 0;
}

size_t scan_start(const Bytes& jpeg) {
  const Bytes marker = {0xFF, 0xDA};
  return static_cast<size_t>(std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end()) - jpeg.begin());
}

// Writes `width` x `height` into the frame header (SOF0 or SOF2).
void claim_size(Bytes& jpeg, int width, int height) {
  const size_t i = frame_start(jpeg);
  jpeg[i + 5] = static_cast<uint8_t>(height >> 8), jpeg[i + 6] = static_cast<uint8_t>(height);
  jpeg[i + 7] = static_cast<uint8_t>(width >> 8), jpeg[i + 8] = static_cast<uint8_t>(width);
}

void check_still_works(image::ImageDecoder& decoder) {
  const auto good = test::make_jpeg(40, 30);
  PixelRows rows;
  REQUIRE(decoder.open(good, true));
  REQUIRE(decoder.decode({0, 0, 40, 30}, rows));
}

TEST_CASE("what is no picture is named", "[decode]") {
  auto decoder = image::make_image_decoder();
  CHECK_THAT(refusal(*decoder, {}), Contains("empty"));
  CHECK_THAT(refusal(*decoder, bytes_of("PK\x03\x04...")), Contains("ZIP"));
  CHECK_THAT(refusal(*decoder, bytes_of("hello, this is text\n")), Contains("text"));
  CHECK_THAT(refusal(*decoder, bytes_of("BM is how this text of many words begins\n")),
             Contains("no picture but text"));
  CHECK_THAT(refusal(*decoder, bytes_of("<!doctype html>")), Contains("HTML"));
  CHECK_THAT(refusal(*decoder, Bytes(100, 0)), Contains("zeros"));
  CHECK_THAT(refusal(*decoder, {0xFF, 0xD8}), Contains("no picture"));
  CHECK_THAT(refusal(*decoder, bytes_of("\x89PN")), Contains("no picture"));
  CHECK_THAT(refusal(*decoder, {1, 2, 3, 4}), Contains("no picture"));
  check_still_works(*decoder);
}

TEST_CASE("a picture of a format that is not decoded is unsupported, and no damage", "[decode]") {
  auto decoder = image::make_image_decoder();
  CHECK_THAT(refusal(*decoder, bytes_of("1234ftypisom")), Contains("an MP4 file"));
  CHECK_THAT(unsupported(*decoder, bytes_of("8BPS....")), Contains("a Photoshop picture: this build decodes JPEG"));
  check_still_works(*decoder);
  const auto changed = [](size_t place, uint8_t byte) {
    auto jpeg = test::make_jpeg(64, 64);
    jpeg[frame_start(jpeg) + place] = byte;
    return jpeg;
  };
  constexpr size_t kMarker = 1, kPrecision = 4;
  CHECK_THAT(unsupported(*decoder, changed(kPrecision, 12)), Contains("a JPEG of 12 bits"));
  CHECK_THAT(unsupported(*decoder, changed(kMarker, 0xC3)), Contains("a lossless JPEG"));
  CHECK_THAT(unsupported(*decoder, changed(kMarker, 0xC5)), Contains("a hierarchical JPEG"));
  CHECK_THAT(unsupported(*decoder, changed(kMarker, 0xF7)), Contains("a JPEG-LS picture"));
  CHECK_THAT(refusal(*decoder, changed(kMarker, 0xF2)), Contains("a damaged JPEG: a marker in it is none of JPEG's"));
  check_still_works(*decoder);
  CHECK_THAT(refusal(*decoder, changed(kPrecision, 77)), Contains("damaged"));  // no JPEG has 77 bits
  auto cut = changed(kPrecision, 77);
  cut.resize(cut.size() / 2);
  CHECK(refusal(*decoder, cut) != "accepted");
  check_still_works(*decoder);
}

TEST_CASE("a cut-off JPEG is refused wherever it was cut", "[decode]") {
  for (const bool progressive : {false, true}) {
    test::JpegOptions options;
    options.progressive = progressive;
    const auto jpeg = test::make_jpeg(160, 120, options);
    auto decoder = image::make_jpeg_decoder();
    for (size_t size = 3; size < jpeg.size() - 1; size += size < 700 ? 1 : 37) {
      CHECK(refusal(*decoder, Bytes(jpeg.begin(), jpeg.begin() + static_cast<ptrdiff_t>(size))) != "accepted");
    }
    const auto half = static_cast<ptrdiff_t>(scan_start(jpeg) + (jpeg.size() - scan_start(jpeg)) / 2);
    CHECK_THAT(refusal(*decoder, Bytes(jpeg.begin(), jpeg.begin() + half)), Contains("cut off"));
    check_still_works(*decoder);
  }
}

TEST_CASE("bytes behind the end are allowed", "[decode]") {
  auto jpeg = test::make_jpeg(50, 50);
  jpeg.insert(jpeg.end(), 1000, 0);
  auto decoder = image::make_jpeg_decoder();
  CHECK(decoder->open(jpeg, true));
}

// The scan's first half, and then its end: as a file has it that lost its middle.
Bytes without_middle(Bytes jpeg) {
  const size_t start = scan_start(jpeg) + 14, half = start + (jpeg.size() - start) / 2;
  jpeg.erase(jpeg.begin() + static_cast<ptrdiff_t>(half), jpeg.end() - 2);
  return jpeg;
}

TEST_CASE("damage in the coded data is accepted as libjpeg accepts it, and refused where strict says so", "[decode]") {
  for (const bool progressive : {false, true}) {
    test::JpegOptions options;
    options.progressive = progressive;
    const auto jpeg = without_middle(test::make_jpeg(256, 256, options));
    auto decoder = image::make_jpeg_decoder();
    for (const Box& box : {Box{0, 0, 256, 256}, {0, 0, 64, 16}, {0, 200, 64, 16}}) {
      PixelRows rows;
      REQUIRE(decoder->open(jpeg, true));
      CHECK(decoder->decode(box, rows));
      REQUIRE(decoder->open(jpeg, true, true));
      const auto refused = decoder->decode(box, rows);
      REQUIRE(!refused);
      CHECK(refused.error().trouble == Trouble::kContent);
      CHECK_THAT(refused.error().message, Contains("a damaged JPEG") && Contains("premature end"));
    }
    check_still_works(*decoder);
  }
}

TEST_CASE("a header that claims too much is refused before anything is allocated", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  for (const bool progressive : {false, true}) {
    test::JpegOptions options;
    options.progressive = progressive;
    auto jpeg = test::make_jpeg(64, 64, options);
    claim_size(jpeg, 65000, 65000);
    CHECK_THAT(refusal(*decoder, jpeg), Contains("65000 x 65000") && Contains("limit"));
    claim_size(jpeg, 13000, 13000);
    CHECK_THAT(refusal(*decoder, jpeg), Contains("13000 x 13000") && Contains("can hold"));
    claim_size(jpeg, 65535, 1);
    CHECK_THAT(refusal(*decoder, jpeg), Contains("damaged"));
    claim_size(jpeg, 64, 0);
    CHECK_THAT(refusal(*decoder, jpeg), Contains("damaged"));
  }
  check_still_works(*decoder);
}

TEST_CASE("a progressive picture's memory is bounded", "[decode]") {
  test::JpegOptions options;
  options.progressive = true;
  options.subsampling = test::Subsampling::k444;
  auto jpeg = test::make_jpeg(64, 64, options);
  claim_size(jpeg, 13000, 13000);
  jpeg.insert(jpeg.end() - 2, 1 << 20, 0x55);  // enough bytes to be believed
  auto decoder = image::make_jpeg_decoder({.bytes_max = size_t{768} << 20});
  PixelRows rows;
  REQUIRE(decoder->open(jpeg, true));
  const auto status = decoder->decode({0, 0, 8, 8}, rows);
  REQUIRE(!status);
  CHECK_THAT(status.error().message, Contains("memory") && Contains("limits.sample_bytes_max"));
  check_still_works(*decoder);
}

TEST_CASE("a progressive picture's scans are bounded", "[decode]") {
  test::JpegOptions options;
  options.progressive = true;
  options.grey = true;
  auto jpeg = test::make_jpeg(64, 64, options);
  // The last scan again and again: allowed by the format's grammar, sent by nobody.
  size_t last = 0;
  for (size_t i = 0; i + 1 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xDA) last = i;
  }
  const Bytes scan(jpeg.begin() + static_cast<ptrdiff_t>(last), jpeg.end() - 2);
  for (int i = 0; i < 200; ++i) jpeg.insert(jpeg.end() - 2, scan.begin(), scan.end());
  auto decoder = image::make_jpeg_decoder();
  CHECK_THAT(refusal(*decoder, jpeg), Contains("206 scans"));
  check_still_works(*decoder);
}

Bytes without_segments(const Bytes& jpeg, uint8_t marker) {
  Bytes rest(jpeg.begin(), jpeg.begin() + 2);
  size_t at = 2;
  while (jpeg[at + 1] != 0xDA) {
    const size_t end = at + 2 + (static_cast<size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3]);
    if (jpeg[at + 1] != marker)
      rest.insert(rest.end(), jpeg.begin() + static_cast<ptrdiff_t>(at), jpeg.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  }
  rest.insert(rest.end(), jpeg.begin() + static_cast<ptrdiff_t>(at), jpeg.end());
  return rest;
}

TEST_CASE("a picture gets no tables from those before it", "[decode]") {
  constexpr uint8_t kHuffmanTables = 0xC4, kQuantTables = 0xDB;
  const auto baseline = test::make_jpeg(64, 48);
  test::JpegOptions options;
  options.progressive = true;
  options.quality = 30;
  const auto progressive = test::make_jpeg(64, 48, options);
  const auto decode = [](image::ImageDecoder& decoder, const Bytes& jpeg, Bytes& pixels) {
    PixelRows rows;
    const auto size = decoder.open(jpeg, true);
    if (!size || !decoder.decode({0, 0, size->width, size->height}, rows)) return false;
    pixels.assign(rows.row(0), rows.row(size->height - 1) + 3 * static_cast<ptrdiff_t>(size->width));
    return true;
  };
  auto decoder = image::make_jpeg_decoder();
  Bytes pixels, again;
  for (int round = 0; round < 2; ++round) {
    CHECK_FALSE(decode(*decoder, without_segments(baseline, kQuantTables), pixels));
    CHECK_FALSE(decode(*decoder, without_segments(progressive, kHuffmanTables), pixels));
    // Motion JPEG's frames: the standard's own tables are meant, which make_jpeg uses.
    REQUIRE(decode(*decoder, without_segments(baseline, kHuffmanTables), pixels));
    REQUIRE(decode(*decoder, progressive, again));  // with tables of its own
    REQUIRE(decode(*decoder, baseline, again));
    CHECK(pixels == again);
  }
}

TEST_CASE("random damage never does worse than an error", "[decode]") {
  auto decoder = image::make_jpeg_decoder();
  uint32_t random = 1;
  const auto next = [&] { return random = random * 1664525 + 1013904223, random >> 8; };
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    test::JpegOptions options;
    options.progressive = i % 3 == 0;
    options.restart_interval = i % 5 == 0 ? 3 : 0;
    options.exif_orientation = i % 9;
    auto jpeg = test::make_jpeg(70, 50, options);
    for (int k = 0; k < 4; ++k) jpeg[2 + next() % (jpeg.size() - 2)] = static_cast<uint8_t>(next());
    const auto size = decoder->open(jpeg, true);
    PixelRows rows;
    if (!size || !decoder->decode({0, 0, size->width, size->height}, rows)) ++refused;
  }
  CHECK(refused > 50);
  CHECK(refused < 600);
  check_still_works(*decoder);
}

TEST_CASE("a box outside of the picture is refused", "[decode]") {
  const auto jpeg = test::make_jpeg(40, 30);
  auto decoder = image::make_jpeg_decoder();
  PixelRows rows;
  CHECK(!decoder->decode({0, 0, 1, 1}, rows));  // nothing is open
  REQUIRE(decoder->open(jpeg, true));
  for (const Box& box : {Box{-1, 0, 5, 5}, {0, 0, 41, 30}, {0, 30, 5, 1}, {0, 0, 0, 5}, {2147483647, 0, 1, 1}}) {
    const auto status = decoder->decode(box, rows);
    REQUIRE(!status);
    CHECK(status.error().trouble == Trouble::kInternal);
  }
}

TEST_CASE("a grey JPEG gives a mask's values, and a JPEG in colours does not", "[decode]") {
  auto decoder = image::make_image_decoder();
  const auto grey = test::make_jpeg(40, 30, {.grey = true}), colours = test::make_jpeg(40, 30);
  PixelRows rows, stored;
  REQUIRE(decoder->open(grey, true));
  REQUIRE(decoder->decode({0, 0, 40, 30}, rows));
  for (const int bits : {8, 16}) {
    REQUIRE(decoder->open(grey, true, false, {image::Colours::kStored, bits}));
    CHECK_FALSE(decoder->planes());
    REQUIRE(decoder->decode({0, 0, 40, 30}, stored));
    REQUIRE(stored.format == PixelFormat{1, bits / 8});
    int wrong = 0;
    for (int i = 0; i < 40 * 30; ++i) {
      const uint8_t* value = stored.row(i / 40) + stored.format.pixel_bytes() * (i % 40 - stored.covers.x);
      wrong += *value != rows.row(i / 40)[3 * (i % 40 - rows.covers.x)] || (bits == 16 && value[1] != 0);
    }
    CHECK(wrong == 0);
  }
  const auto refused = decoder->open(colours, true, false, {image::Colours::kStored, 8});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kContent);
  CHECK_THAT(refused.error().message, Catch::Contains("a JPEG in colours, where a mask's values are wanted"));
}

}  // namespace
}  // namespace spdld
