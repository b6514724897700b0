// Damage to a PNG is bad content, for every box alike, with and without `strict`.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/media/image/png/png_boxes.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::png_damage_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Catch::Contains;
using test::PngOptions;
using test::refused;

constexpr Size kPicture{29, 23};
const std::vector<Box> kBoxes = {{0, 0, 29, 23}, {0, 0, 1, 1}, {28, 22, 1, 1}, {3, 9, 20, 4}};

std::vector<PngOptions> few_kinds() {
  return {{},
          {.colour = 6, .depth = 16, .interlaced = true},
          {.colour = 3, .depth = 4, .data_bytes_max = 50},
          {.colour = 0, .depth = 1, .interlaced = true}};
}

// The verdict on the picture, which no box and no option may change.
std::optional<std::string> verdict(image::ImageDecoder& decoder, const Bytes& png) {
  const auto first = refused(decoder, png);
  for (const Box& box : kBoxes) {
    const auto size = decoder.open(png, true);
    // Damage to the header may give another size.
    if (size && (box.x + box.width > size->width || box.y + box.height > size->height)) continue;
    if (refused(decoder, png, box) != first) return "another verdict for another box";
    if (refused(decoder, png, box, true) != first) return "another verdict with strict";
  }
  return first;
}

TEST_CASE("a PNG that was cut off is refused wherever it was cut, and bytes behind its end are allowed", "[decode]") {
  auto decoder = image::make_image_decoder();
  for (const PngOptions& options : few_kinds()) {
    auto made = test::make_png(kPicture.width, kPicture.height, options);
    test::insert_png_chunk(made.bytes, "IDAT", test::exif_png_chunk(1));
    for (size_t size = 0; size < made.bytes.size(); ++size) {
      const auto why = refused(*decoder, Bytes(made.bytes.begin(), made.bytes.begin() + static_cast<ptrdiff_t>(size)));
      if (!why) FAIL("cut to " << size << " bytes, and accepted");
      if (size >= 4 && why->find("cut off") == std::string::npos) FAIL(*why);
    }
    CHECK_FALSE(verdict(*decoder, made.bytes));
    made.bytes.insert(made.bytes.end(), 1000, 0x5A);
    CHECK_FALSE(verdict(*decoder, made.bytes));
  }
}

TEST_CASE("each byte of the critical chunks counts, for every box", "[decode]") {
  auto decoder = image::make_png_decoder();
  for (const PngOptions& options : few_kinds()) {
    const auto made = test::make_png(kPicture.width, kPicture.height, options);
    for (size_t i = 0; i < made.bytes.size(); ++i) {
      Bytes bad = made.bytes;
      bad[i] ^= static_cast<uint8_t>(1 << i % 8);
      const auto why = verdict(*decoder, bad);
      if (!why || why->find("PNG") == std::string::npos || why->starts_with("not kContent"))
        FAIL("byte " << i << ": " << why.value_or("accepted"));
    }
  }
}

TEST_CASE("damage to ancillary chunks is no damage to the picture", "[decode]") {
  auto decoder = image::make_png_decoder();
  auto made = test::make_png(kPicture.width, kPicture.height);
  Bytes text = test::png_chunk("iTXt", Bytes(30, 'x'));
  text.back() ^= 1;
  test::insert_png_chunk(made.bytes, "IDAT", text);
  test::insert_png_chunk(made.bytes, "IEND", text);
  CHECK_FALSE(verdict(*decoder, made.bytes));
}

TEST_CASE("random damage has one verdict for all boxes", "[decode]") {
  auto decoder = image::make_image_decoder();
  std::mt19937 random(7);
  int accepted = 0;
  for (uint32_t i = 0; i < 1500; ++i) {
    const auto& kind = test::kPngKinds[i % std::size(test::kPngKinds)];
    auto made = test::make_png(kPicture.width, kPicture.height,
                               {.colour = kind.colour, .depth = kind.depth, .interlaced = i % 2 == 0, .seed = i});
    test::insert_png_chunk(made.bytes, "IDAT", test::exif_png_chunk(1));
    test::insert_png_chunk(made.bytes, "IDAT", test::png_chunk("tEXt", Bytes(40, 'x')));
    const auto place = [&] {
      return made.bytes.begin() + static_cast<ptrdiff_t>(8 + random() % (made.bytes.size() - 8));
    };
    const auto from = place(), to = place();
    switch (i % 5) {
      case 0:
        *place() = static_cast<uint8_t>(random());
        break;
      case 1:
        made.bytes.erase(std::min(from, to), std::max(from, to));
        break;
      case 2:
        std::fill(std::min(from, to), std::max(from, to), uint8_t{0});
        break;
      case 3:
        std::swap(*from, *to);
        break;
      case 4:
        made.bytes.insert(from, 1 + random() % 9, static_cast<uint8_t>(random()));
        break;
    }
    const auto why = verdict(*decoder, made.bytes);
    if (why && why->starts_with("another")) FAIL(i << ": " << *why);
    accepted += !why;
  }
  CHECK(accepted > 20);  // what hit a text
  CHECK(accepted < 700);
}

TEST_CASE("chunks in a wrong order, of wrong sizes and of unknown kinds are refused", "[decode]") {
  auto decoder = image::make_image_decoder();
  const auto made = test::make_png(kPicture.width, kPicture.height, {.colour = 3, .depth = 8, .data_bytes_max = 60});
  const auto with = [&](const char* before, const Bytes& chunk) {
    Bytes png = made.bytes;
    test::insert_png_chunk(png, before, chunk);
    return png;
  };
  const auto without = [&](const char* type) {
    Bytes png = made.bytes;
    const size_t at = test::find_png_chunk(png, type);
    const auto start = png.begin() + static_cast<ptrdiff_t>(at);
    png.erase(start, start + 12 + (start[2] << 8 | start[3]));
    return png;
  };
  const auto why = [&](const Bytes& png) { return verdict(*decoder, png).value_or("accepted"); };
  CHECK_THAT(why(without("IHDR")), Contains("does not begin with a header"));
  CHECK_THAT(why(without("PLTE")), Contains("damaged"));
  CHECK_THAT(why(without("IEND")), Contains("cut off"));
  CHECK_THAT(why(without("IDAT")), Contains("damaged"));
  CHECK_THAT(why(with("IDAT", test::png_chunk("IHDR", Bytes(13, 1)))), Contains("damaged"));
  CHECK_THAT(why(with("IDAT", test::png_chunk("PLTE", Bytes(4, 1)))), Contains("damaged"));
  CHECK_THAT(why(with("PLTE", test::png_chunk("IDAT", Bytes(4, 1)))), Contains("interrupts its coded data"));
  CHECK_THAT(why(with("IDAT", test::png_chunk("PLTE", Bytes(257 * 3, 1)))), Contains("damaged"));
  Bytes text = made.bytes;
  text[4] = '\n';
  CHECK_THAT(why(text), Contains("signature"));
  // Sound chunks that PNG does not define; the first is Apple's.
  for (const auto& [before, type] : {std::pair("IHDR", "CgBI"), std::pair("PLTE", "ABCD"), std::pair("IEND", "ABCD")}) {
    const auto unknown = decoder->open(with(before, test::png_chunk(type, Bytes(4, 1))), true);
    REQUIRE(!unknown);
    CHECK(unknown.error().trouble == Trouble::kUnsupported);
    CHECK_THAT(unknown.error().message, Contains(type) && Contains("this build decodes"));
  }
}

TEST_CASE("a header that no PNG has, or that is damaged, is refused at once", "[decode]") {
  auto decoder = image::make_png_decoder();
  constexpr size_t kHeader = 8, kContent = 16, kHeaderBytes = 13;
  const auto refusal = [&](size_t place, uint8_t value, bool right_sum) {
    auto png = test::make_png(kPicture.width, kPicture.height).bytes;
    png[kContent + place] = value;
    const Bytes chunk = test::png_chunk("IHDR", std::span(png).subspan(kContent, kHeaderBytes));
    if (right_sum) std::copy(chunk.begin(), chunk.end(), png.begin() + kHeader);
    const auto size = decoder->open(png, true);
    return size ? std::string("accepted") : size.error().message;
  };
  constexpr size_t kDepth = 8, kColour = 9, kCompression = 10, kFilter = 11, kInterlace = 12;
  CHECK(refusal(kColour, 2, true) == "accepted");
  for (const auto& [place, value] :
       {std::pair(kDepth, 4), std::pair(kDepth, 0), std::pair(kColour, 1), std::pair(kColour, 7),
        std::pair(kCompression, 1), std::pair(kFilter, 1), std::pair(kInterlace, 2)}) {
    CHECK_THAT(refusal(place, static_cast<uint8_t>(value), true),
               Contains("its header says what no PNG's header says"));
  }
  CHECK_THAT(refusal(kInterlace, 1, false), Contains("damaged"));
  CHECK(refusal(kInterlace, 1, true) == "accepted");
}

TEST_CASE("too few rows are damage, and what follows the last row is not looked at", "[decode]") {
  auto decoder = image::make_png_decoder();
  auto taller = test::make_png(kPicture.width, kPicture.height);
  test::claim_png_size(taller.bytes, kPicture.width, kPicture.height + 1);
  CHECK_THAT(verdict(*decoder, taller.bytes).value_or("accepted"), Contains("damaged"));
  auto shorter = test::make_png(kPicture.width, kPicture.height);
  test::claim_png_size(shorter.bytes, kPicture.width, kPicture.height - 1);
  CHECK_FALSE(refused(*decoder, shorter.bytes));
}

TEST_CASE("a decoder is fit for the next picture after a bad one, of either format", "[decode]") {
  auto decoder = image::make_image_decoder();
  const auto png = test::make_png(kPicture.width, kPicture.height);
  const auto jpeg = test::make_jpeg(40, 30);
  PixelRows rows;
  for (int round = 0; round < 3; ++round) {
    Bytes bad = png.bytes;
    bad[bad.size() / 2] ^= 0x10;
    CHECK(refused(*decoder, bad));
    CHECK_FALSE(refused(*decoder, jpeg));
    CHECK(decoder->planes());
    CHECK(refused(*decoder, Bytes(40, 'x')));
    CHECK(decoder->decode({0, 0, 1, 1}, rows).error().trouble == Trouble::kInternal);  // nothing is open
    CHECK_FALSE(decoder->planes());
    CHECK_FALSE(refused(*decoder, png.bytes));
    CHECK_FALSE(decoder->planes());
  }
  uint8_t none = 0;
  CHECK(decoder->decode_planes(&none).error().trouble == Trouble::kInternal);
  REQUIRE(decoder->open(png.bytes, true));
  for (const Box& box : {Box{-1, 0, 5, 5}, {0, 0, 30, 23}, {0, 23, 5, 1}, {0, 0, 0, 5}, {2147483647, 0, 1, 1}}) {
    CHECK(decoder->decode(box, rows).error().trouble == Trouble::kInternal);
  }
}

}  // namespace
}  // namespace spdld::png_damage_test
