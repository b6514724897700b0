// The short way of common PNGs beside libspng's: the same pixels and the same verdicts.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "daemon/media/image/codecs/png/unfilter.h"
#include "tests/media/image/on_all_sets.h"
#include "tests/media/image/png/png_boxes.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::png_whole_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::kUnfilterSlack;

// As the specification has it.
Bytes unfiltered(uint8_t filter, size_t pixel_bytes, const Bytes& above, Bytes row) {
  for (size_t i = 0; i < row.size(); ++i) {
    const int left = i < pixel_bytes ? 0 : row[i - pixel_bytes], corner = i < pixel_bytes ? 0 : above[i - pixel_bytes];
    const int up = above[i], estimate = left + up - corner;
    const int by_left = std::abs(estimate - left), by_up = std::abs(estimate - up);
    const int by_corner = std::abs(estimate - corner);
    const int nearest = by_left <= by_up && by_left <= by_corner ? left : by_up <= by_corner ? up : corner;
    const int added[] = {0, left, up, (left + up) / 2, nearest};
    row[i] = static_cast<uint8_t>(row[i] + added[filter]);
  }
  return row;
}

TEST_CASE("filters are taken back as the specification says, on every instruction set", "[kernels]") {
  const uint8_t filter = GENERATE(range<uint8_t>(0, image::kFiltersMax + 1));
  const size_t pixel_bytes = GENERATE(1u, 3u, 4u);
  for (const size_t pixels : {1u, 2u, 21u, 22u, 64u, 1000u}) {
    const size_t bytes = pixels * pixel_bytes;
    Bytes above = test::noise_values(bytes, pixels), coded = test::noise_values(bytes, 99);
    if (pixels % 2 == 1) {  // equal and neighbouring values, where the order of the neighbours counts
      for (uint8_t& value : above) value = static_cast<uint8_t>(100 + value % 3);
      for (uint8_t& value : coded) value = static_cast<uint8_t>(value % 3);
    }
    const Bytes wanted = unfiltered(filter, pixel_bytes, above, coded);
    above.resize(bytes + kUnfilterSlack), coded.resize(bytes + kUnfilterSlack, 0x5C);
    CAPTURE(int{filter}, pixel_bytes, pixels);
    CHECK((test::on_all_sets([&] {
             Bytes row = coded;
             image::unfilter_row(filter, static_cast<int>(pixel_bytes), bytes, above.data(), row.data());
             if (row.back() != 0x5C || row[bytes] != 0x5C) FAIL("written behind the row");
             row.resize(bytes);
             return row;
           }) == wanted));
  }
}

constexpr Size kPicture{300, 200};
constexpr uint64_t kPixelBytes = 300 * 200 * 3;
constexpr size_t kRowBytes = 300 * 3 + 1;

// A decoder whose limit of memory leaves no room for the short way.
std::unique_ptr<image::ImageDecoder> make_slow_decoder() {
  return image::make_png_decoder({.bytes_max = kPixelBytes + (100 << 10)});
}

struct Decoding {
  std::string refusal;
  Bytes pixels;
  friend bool operator==(const Decoding&, const Decoding&) = default;
};

Decoding outcome(image::ImageDecoder& decoder, const Bytes& png) {
  const auto size = decoder.open(png, true);
  if (!size) return {size.error().message, {}};
  PixelRows rows;
  const Status decoded = decoder.decode({0, 0, size->width, size->height}, rows);
  if (!decoded) return {decoded.error().message, {}};
  const uint8_t* const first = rows.row(0);
  return {{}, Bytes(first, first + rows.stride_bytes * static_cast<size_t>(size->height))};
}

// The only IDAT chunk's content is replaced, with a right checksum.
Bytes with_data(const Bytes& png, const Bytes& coded) {
  const size_t at = test::find_png_chunk(png, "IDAT"), end = test::find_png_chunk(png, "IEND");
  Bytes changed(png.begin(), png.begin() + static_cast<ptrdiff_t>(at));
  const Bytes chunk = test::png_chunk("IDAT", coded);
  changed.insert(changed.end(), chunk.begin(), chunk.end());
  changed.insert(changed.end(), png.begin() + static_cast<ptrdiff_t>(end), png.end());
  return changed;
}

Bytes data_of(const Bytes& png) {
  const size_t at = test::find_png_chunk(png, "IDAT"), end = test::find_png_chunk(png, "IEND");
  return {png.begin() + static_cast<ptrdiff_t>(at + 8), png.begin() + static_cast<ptrdiff_t>(end - 4)};
}

TEST_CASE("damage that checksums do not tell has libspng's verdict and pixels", "[decode]") {
  const auto decoder = image::make_png_decoder(), slow = make_slow_decoder();
  const auto made = test::make_png(kPicture.width, kPicture.height);
  const Bytes data = data_of(made.bytes);
  REQUIRE(outcome(*decoder, made.bytes) == outcome(*slow, made.bytes));
  REQUIRE(outcome(*decoder, made.bytes).refusal.empty());
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 300; ++i) {
    Bytes bad = data;
    const size_t near_end = bad.size() - 1 - random() % 12, place = i % 3 == 0 ? near_end : random() % bad.size();
    switch (i % 5) {
      case 0:
      case 1:
        bad[place] ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 2:
        bad.resize(place);
        break;
      case 3:
        bad.insert(bad.end(), 1 + random() % 9, static_cast<uint8_t>(random()));
        break;
      case 4:
        bad[0] = static_cast<uint8_t>(random()), bad[1] = static_cast<uint8_t>(31 - bad[0] * 256 % 31);
        break;
    }
    const Decoding found = outcome(*decoder, with_data(made.bytes, bad));
    if (!(found == outcome(*slow, with_data(made.bytes, bad)))) FAIL(i << ": " << found.refusal);
    accepted += found.refusal.empty();
  }
  CHECK(accepted > 20);
  CHECK(accepted < 200);
}

Bytes deflated(const Bytes& rows) {
  uLongf size = compressBound(rows.size());
  Bytes coded(size);
  REQUIRE(compress(coded.data(), &size, rows.data(), rows.size()) == Z_OK);
  coded.resize(size);
  return coded;
}

TEST_CASE("a filter that no row has, and a wrong number of rows, have libspng's verdict", "[decode]") {
  const auto decoder = image::make_png_decoder(), slow = make_slow_decoder();
  const auto made = test::make_png(kPicture.width, kPicture.height);
  const auto check = [&](const Bytes& rows, bool accepted) {
    const Bytes png = with_data(made.bytes, deflated(rows));
    const Decoding found = outcome(*decoder, png);
    CHECK(found.refusal.empty() == accepted);
    CHECK((found == outcome(*slow, png)));
  };
  Bytes rows(kRowBytes * 200, 3);
  check(rows, true);
  rows[199 * kRowBytes] = 5;
  check(rows, false);
  rows[199 * kRowBytes] = 4;
  rows.push_back(0);
  check(rows, true);
  rows.resize(kRowBytes * 200 - 1);
  check(rows, false);
}

TEST_CASE("a window that is smaller than its distances has zlib's verdict", "[decode]") {
  const auto decoder = image::make_png_decoder(), slow = make_slow_decoder();
  const auto made = test::make_png(kPicture.width, kPicture.height);
  Bytes rows = test::noise_values(kRowBytes * 20, 3);
  for (size_t i = 0; i < rows.size(); i += kRowBytes) rows[i] = 0;
  while (rows.size() < kRowBytes * 200) rows.push_back(rows[rows.size() - kRowBytes * 20]);
  Bytes data = deflated(rows);
  data[0] = 0x08, data[1] = 0x1D;  // 256 bytes, and a right header
  const Bytes png = with_data(made.bytes, data);
  CHECK((outcome(*decoder, png) == outcome(*slow, png)));
}

TEST_CASE("a second header is damage also of a picture that is else sound", "[decode]") {
  const auto decoder = image::make_png_decoder(), slow = make_slow_decoder();
  auto made = test::make_png(kPicture.width, kPicture.height);
  const Bytes header(made.bytes.begin() + 8, made.bytes.begin() + 33);
  test::insert_png_chunk(made.bytes, "IDAT", header);
  CHECK_FALSE(outcome(*decoder, made.bytes).refusal.empty());
  CHECK((outcome(*decoder, made.bytes) == outcome(*slow, made.bytes)));
}

}  // namespace
}  // namespace spdld::png_whole_test
