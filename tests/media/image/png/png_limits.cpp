// What a PNG costs is bounded: by its coded bytes before anything is inflated, and by limits of CPU time and memory
// while it is decoded. Chunks that no pixel needs are never inflated.
#include <zlib.h>

#include <catch2/catch.hpp>

#include "tests/media/image/png/png_boxes.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::png_limits_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Catch::Contains;
using test::refused;

// A clock that goes on by a millisecond whenever it is looked at.
uint64_t looks = 0;
uint64_t clock_of_looks() { return 1 + ++looks * 1'000'000; }

Bytes claiming(uint32_t width, uint32_t height, const test::PngOptions& options = {}) {
  auto made = test::make_png(16, 16, options);
  test::claim_png_size(made.bytes, width, height);
  return made.bytes;
}

TEST_CASE("a PNG's header that claims too much is refused before anything is decoded", "[decode]") {
  auto decoder = image::make_png_decoder({.cpu_ns = clock_of_looks});
  looks = 0;
  const auto refusal = [&](const Bytes& png) {
    const auto size = decoder->open(png, true);
    if (size) return std::string("accepted");
    CHECK(size.error().trouble == Trouble::kContent);
    return size.error().message;
  };
  CHECK_THAT(refusal(claiming(65000, 65000)), Contains("a PNG whose header claims 65000 x 65000") && Contains("limit"));
  CHECK_THAT(refusal(claiming(2147483647, 2147483647)), Contains("limit"));
  CHECK_THAT(refusal(claiming(13000, 13000)), Contains("13000 x 13000") && Contains("can hold"));
  CHECK_THAT(refusal(claiming(178'956'970, 1, {.colour = 6, .depth = 16})), Contains("can hold"));
  CHECK_THAT(refusal(claiming(13000, 13000, {.colour = 0, .depth = 1, .interlaced = true})), Contains("can hold"));
  CHECK_THAT(refusal(claiming(0, 16)), Contains("header"));
  CHECK_THAT(refusal(claiming(16, 0)), Contains("header"));
  CHECK_THAT(refusal(claiming(0x80000000u, 1)), Contains("header"));
  CHECK(looks == 0);
}

TEST_CASE("honest PNGs of few bytes are decoded", "[decode]") {
  auto decoder = image::make_png_decoder();
  for (const auto& kind : test::kPngKinds) {
    for (const bool interlaced : {false, true}) {
      for (const Size& size : {Size{1, 1}, {900, 700}, {20000, 3}, {3, 20000}}) {
        CAPTURE(kind.colour, kind.depth, size.width, size.height);
        const test::PngOptions options{
            .colour = kind.colour, .depth = kind.depth, .interlaced = interlaced, .filter = 0, .flat = true};
        CHECK_FALSE(refused(*decoder, test::make_png(size.width, size.height, options).bytes));
      }
    }
  }
}

TEST_CASE("the limit of memory counts the whole picture, for every box", "[decode]") {
  const auto made = test::make_png(500, 400);
  auto turned = made;
  test::insert_png_chunk(turned.bytes, "IDAT", test::exif_png_chunk(6));
  constexpr uint64_t kPixels = 500 * 400 * 3, kRows = 4 * 500 * 3;
  for (const Box& box : {Box{0, 0, 400, 400}, {7, 9, 2, 3}}) {
    const auto refusal = [&](const Bytes& png, uint64_t bytes_max) {
      auto decoder = image::make_png_decoder({.bytes_max = bytes_max});
      return refused(*decoder, png, box).value_or("decoded");
    };
    CHECK(refusal(made.bytes, 0) == "decoded");
    CHECK(refusal(made.bytes, kPixels + kRows + (100 << 10)) == "decoded");
    for (const uint64_t bytes_max : {uint64_t{1}, kPixels, kPixels + kRows, kPixels + kRows + (30 << 10)}) {
      CHECK_THAT(refusal(made.bytes, bytes_max),
                 Contains("a PNG that costs too much") && Contains("limits.sample_bytes_max"));
    }
    CHECK_THAT(refusal(turned.bytes, kPixels + kRows + (100 << 10)), Contains("limits.sample_bytes_max"));
    CHECK(refusal(turned.bytes, 2 * kPixels + kRows + (100 << 10)) == "decoded");
  }
}

TEST_CASE("no limit of memory makes damage of a sound PNG", "[decode]") {
  for (const bool interlaced : {false, true}) {
    const auto made = test::make_png(300, 200, {.interlaced = interlaced});
    int refusals = 0;
    for (uint64_t room = 0; room < 80 << 10; room += 509) {
      auto decoder = image::make_png_decoder({.bytes_max = 300 * 200 * 3 + room});
      const auto why = refused(*decoder, made.bytes);
      if (!why) continue;
      ++refusals;
      REQUIRE_THAT(*why, Contains("limits.sample_bytes_max"));
    }
    CHECK(refusals > 60);
    CHECK(refusals < 160);
  }
}

TEST_CASE("decoding a PNG ends at the limit of CPU time", "[decode]") {
  for (const bool interlaced : {false, true}) {
    const auto made = test::make_png(4000, 4000, {.colour = 0, .depth = 1, .interlaced = interlaced, .flat = true});
    for (const Box& box : {Box{0, 0, 4000, 4000}, {0, 0, 1, 1}}) {
      auto decoder = image::make_png_decoder({.cpu_ms_max = 2, .cpu_ns = clock_of_looks});
      CHECK_THAT(refused(*decoder, made.bytes, box).value_or("decoded"),
                 Contains("a PNG that costs too much") && Contains("limits.sample_ms_max"));
      auto patient = image::make_png_decoder({.cpu_ms_max = 0, .cpu_ns = clock_of_looks});
      CHECK_FALSE(refused(*patient, made.bytes, box));
    }
  }
}

TEST_CASE("the limits count anew for each picture", "[decode]") {
  auto decoder = image::make_png_decoder({.cpu_ms_max = 2, .bytes_max = 4 << 20, .cpu_ns = clock_of_looks});
  const auto large = test::make_png(1000, 1000), larger = test::make_png(1300, 1300, {.flat = true});
  for (int i = 0; i < 12; ++i) CHECK_FALSE(refused(*decoder, large.bytes));
  CHECK_THAT(refused(*decoder, larger.bytes).value_or("decoded"), Contains("limits.sample_bytes_max"));
  auto damaged = large.bytes;
  damaged[damaged.size() / 2] ^= 4;
  CHECK_THAT(refused(*decoder, damaged).value_or("decoded"), Contains("a damaged PNG"));
  CHECK_FALSE(refused(*decoder, large.bytes));
}

// A compressed text or profile of a gigabyte in a megabyte.
Bytes inflating(const char* type, Bytes content) {
  z_stream stream{};
  REQUIRE(deflateInit(&stream, 9) == Z_OK);
  const Bytes zeros(1 << 20);
  Bytes out(1 << 16);
  for (int i = 0; i < 1024; ++i) {
    stream.next_in = const_cast<Bytef*>(zeros.data());
    stream.avail_in = static_cast<uInt>(zeros.size());
    do {
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      REQUIRE(deflate(&stream, i == 1023 ? Z_FINISH : Z_NO_FLUSH) >= 0);
      content.insert(content.end(), out.begin(), out.end() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return test::png_chunk(type, content);
}

TEST_CASE("texts and profiles are never inflated", "[decode]") {
  auto made = test::make_png(50, 40);
  const Bytes named = {'n', 0, 0};
  const Bytes bomb = inflating("zTXt", named);
  Bytes profile(bomb), text = {'n', 0, 1, 0, 0, 0};
  text.insert(text.end(), bomb.begin() + 11, bomb.end() - 4);
  profile = test::png_chunk("iCCP", std::span(bomb).subspan(8, bomb.size() - 12));
  test::insert_png_chunk(made.bytes, "IDAT", profile);
  for (const char* before : {"IDAT", "IEND"}) {
    test::insert_png_chunk(made.bytes, before, bomb);
    test::insert_png_chunk(made.bytes, before, test::png_chunk("iTXt", text));
  }
  // The limit of memory leaves no room for a thousandth of it, and the limit of time none for a look.
  looks = 0;
  auto decoder = image::make_png_decoder({.cpu_ms_max = 2, .bytes_max = 256 << 10, .cpu_ns = clock_of_looks});
  CHECK_FALSE(refused(*decoder, made.bytes));
  CHECK(looks <= 1);
}

}  // namespace
}  // namespace spdld::png_limits_test
