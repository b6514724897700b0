// The decoder that is made of a codec of stored rows, and the decoder that stands for a format which a build lacks.
// tests/pixels/picture_trial.cpp puts the real formats through all promises.
#include "daemon/media/image/codecs/stored_codec.h"

#include <catch2/catch.hpp>

#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::stored_codec_test {
namespace {

using Catch::Contains;
using image::Colours;
using image::StoredOutline;

// A format whose pixels are 10 y + x, 0 and 255, of whatever size its bytes name.
class FakeCodec final : public image::StoredCodec {
 public:
  explicit FakeCodec(StoredOutline outline) : outline_(outline) {}
  const char* name() const override { return "an ABC"; }
  Result<StoredOutline> open(std::span<const uint8_t>, const image::Pixels&) override { return outline_; }
  Status decode(const Box& box, image::CpuWatch&, PixelRows& rows) override {
    uint8_t* out = image::cover(box, rows);
    for (int y = box.y; y < box.y + box.height; ++y) {
      for (int x = box.x; x < box.x + box.width; ++x, out += 3)
        out[0] = static_cast<uint8_t>(10 * y + x), out[1] = 0, out[2] = 255;
    }
    return Done{};
  }

 private:
  StoredOutline outline_;
};

// Frames of such a format have their number in the second channel. Pages get smaller by a pixel behind page 1.
class FakeFrames final : public image::StoredCodec {
 public:
  explicit FakeFrames(StoredOutline outline) : outline_(outline) {}
  const char* name() const override { return "an ABC"; }
  Result<StoredOutline> open(std::span<const uint8_t>, const image::Pixels&) override { return outline_; }
  Status decode(const Box& box, image::CpuWatch&, PixelRows& rows) override {
    uint8_t* out = image::cover(box, rows);
    for (int y = box.y; y < box.y + box.height; ++y)
      for (int x = box.x; x < box.x + box.width; ++x, out += 3)
        out[0] = static_cast<uint8_t>(10 * y + x), out[1] = static_cast<uint8_t>(frame_), out[2] = 255;
    return Done{};
  }
  Status decode_frames(std::span<const int> wanted, const Box& box, image::CpuWatch& watch, PixelRows& rows,
                       const image::FrameSink& sink) override {
    for (const int frame : wanted) {
      frame_ = frame;
      (void)decode(box, watch, rows);
      if (const Status taken = sink(rows); !taken) return taken;
    }
    return Done{};
  }
  Result<StoredOutline> turn_to(int page) override {
    frame_ = page;
    StoredOutline outline = outline_;
    if (page == 1) std::swap(outline.width, outline.height), outline.orientation = 6;
    if (page > 1) --outline.width;
    return outline;
  }

 private:
  StoredOutline outline_;
  int frame_ = 0;
};

// The red and green of the upright pixel at (0, 1) of these frames, or the error behind them.
std::string shown(const StoredOutline& outline, std::vector<int> wanted, const image::Pixels& pixels) {
  const auto decoder = image::make_stored_decoder(std::make_unique<FakeFrames>(outline), {});
  const auto size = decoder->open({}, true, false, pixels);
  if (!size) return size.error().message;
  PixelRows rows;
  std::string text;
  const Status decoded = decoder->decode_frames(wanted, {0, 1, 2, 1}, rows, [&](const PixelRows& frame) {
    const uint8_t* pixel = frame.row(1) - frame.format.pixel_bytes() * frame.covers.x;
    text += std::to_string(pixel[0]) + "," + std::to_string(pixel[1]) + " ";
    return pixel[1] < 9 ? Status(Done{}) : Error{Trouble::kContent, "enough"};
  });
  return decoded ? text : text + decoded.error().message;
}

TEST_CASE("frames are turned and converted each, and the sink may end them", "[decode]") {
  CHECK(shown({.width = 4, .height = 3, .frames = 10}, {0, 2, 8}, {.frames = 3}) == "10,0 10,2 10,8 ");
  CHECK(shown({.width = 4, .height = 3, .orientation = 6, .frames = 10}, {1, 4}, {.frames = 2}) == "21,1 21,4 ");
  CHECK(shown({.width = 4, .height = 3, .orientation = 6, .frames = 10}, {1, 4},
              {.colours = Colours::kRgba, .frames = 2}) == "21,1 21,4 ");
  CHECK(shown({.width = 4, .height = 3, .frames = 12}, {3, 9, 11}, {.frames = 3}) == "10,3 10,9 enough");
}

TEST_CASE("pages have outlines of their own, and one size", "[decode]") {
  const StoredOutline pages{.width = 4, .height = 3, .frames = 3, .are_pages = true};
  CHECK(shown(pages, {0, 1}, {.frames = 2}) == "10,0 31,1 ");  // page 1 is stored on its side
  CHECK(shown(pages, {0, 2}, {.frames = 2}) ==
        "10,0 an ABC whose page 2 has 3 x 3 pixels, and the first one 4 x 3: frames must have one size");
}

TEST_CASE("a header that claims too many frames is refused before any memory is taken", "[decode]") {
  CHECK_THAT(shown({.width = 4, .height = 3, .frames = uint64_t{1} << 31}, {0}, {.frames = 1}),
             Contains("an ABC of more than 10000 frames"));
  CHECK_THAT(shown({.width = 4, .height = 3, .frames = UINT64_MAX, .are_pages = true}, {0}, {.frames = 1}),
             Contains("an ABC of more than 10000 pages"));
}

std::unique_ptr<image::ImageDecoder> decoder_of(const StoredOutline& outline, const media::DecodeLimits& limits = {}) {
  return image::make_stored_decoder(std::make_unique<FakeCodec>(outline), limits);
}

TEST_CASE("a later frame of a format without frames is refused", "[decode]") {
  const auto decoder = image::make_image_decoder();
  const auto refused = [&](const std::vector<uint8_t>& picture, Trouble trouble, const std::string& sentence) {
    CHECK(decoder->open(picture, true, false, {.frame = 0}));
    const auto size = decoder->open(picture, true, false, {.frame = 2});
    REQUIRE_FALSE(size);
    CHECK(size.error().trouble == trouble);
    CHECK(size.error().message == sentence);
    PixelRows rows;
    CHECK_FALSE(decoder->decode({0, 0, 1, 1}, rows));
    CHECK_FALSE(decoder->planes());
  };
  refused(test::make_jpeg(9, 7), Trouble::kContent, "a JPEG of 1 frame, counted from 0, where frame 2 is wanted");
  refused(test::make_png(9, 7).bytes, Trouble::kUnsupported,
          "frame 2 is wanted, and this spdld decodes one picture of a PNG");
}

TEST_CASE("planes are of the first frame", "[decode]") {
  CHECK(image::has_planes({Colours::kRgb, 8}));
  CHECK_FALSE(image::has_planes({.frame = 1}));
}

TEST_CASE("stored rows are turned, and converted to the wanted pixels", "[decode]") {
  const auto decoder = decoder_of({.width = 4, .height = 3, .orientation = 6});
  PixelRows rows;
  const auto turned = decoder->open({}, true, false, {Colours::kRgba, 16});
  REQUIRE(turned);
  CHECK(*turned == Size{3, 4});
  REQUIRE(decoder->decode({0, 1, 2, 1}, rows));  // the upright (0, 1) is the stored (1, 2)
  CHECK(rows.format == PixelFormat{4, 2});
  const auto* pixel = reinterpret_cast<const uint16_t*>(rows.row(1)) + 4 * (0 - rows.covers.x);
  CHECK(std::vector<int>(pixel, pixel + 4) == std::vector<int>{21 * 257, 0, 65535, 65535});
  REQUIRE(decoder->open({}, false));
  REQUIRE(decoder->decode({1, 2, 1, 1}, rows));
  CHECK(int{rows.row(2)[3 * (1 - rows.covers.x)]} == 21);
  CHECK(decoder->decode({3, 2, 2, 1}, rows).error().trouble == Trouble::kInternal);
  CHECK_FALSE(decoder->planes());
  uint8_t none = 0;
  CHECK(decoder->decode_planes(&none).error().trouble == Trouble::kInternal);
}

TEST_CASE("what a header claims is held to the limits, and a mask's values are refused", "[decode]") {
  const auto sentence = [](const StoredOutline& outline, const image::Pixels& pixels = {}) {
    const auto size = decoder_of(outline)->open({}, true, false, pixels);
    if (size) return std::string("accepted");
    CHECK(size.error().trouble == Trouble::kContent);
    return size.error().message;
  };
  CHECK(sentence({.width = 178'956'970, .height = 1}) == "accepted");
  CHECK_THAT(sentence({.width = 178'956'971, .height = 1}),
             Contains("an ABC whose header claims") && Contains("limit"));
  CHECK_THAT(sentence({.width = UINT32_MAX, .height = UINT32_MAX}), Contains("limit"));
  CHECK_THAT(sentence({.width = 0, .height = 5}), Contains("a damaged ABC: its header claims no pixels"));
  CHECK_THAT(sentence({.width = 4, .height = 4}, {Colours::kStored, 8}), Contains("a mask is a PNG"));
}

TEST_CASE("the limit of memory counts the whole picture with its copies and the library's memory", "[decode]") {
  const auto decodes = [](const StoredOutline& outline, uint64_t bytes_max, const image::Pixels& pixels = {}) {
    const auto decoder = decoder_of(outline, {.bytes_max = bytes_max});
    REQUIRE(decoder->open({}, true, false, pixels));
    PixelRows rows;
    const Status decoded = decoder->decode({0, 0, 1, 1}, rows);
    if (!decoded)
      CHECK_THAT(decoded.error().message, Contains("an ABC that costs too much") && Contains("sample_bytes_max"));
    return bool(decoded);
  };
  CHECK(decodes({.width = 10, .height = 10}, 300));
  CHECK_FALSE(decodes({.width = 10, .height = 10}, 299));
  CHECK(decodes({.width = 10, .height = 10, .orientation = 3}, 600));
  CHECK_FALSE(decodes({.width = 10, .height = 10, .orientation = 3}, 599));
  CHECK(decodes({.width = 10, .height = 10}, 400, {Colours::kGrey, 8}));
  CHECK_FALSE(decodes({.width = 10, .height = 10}, 399, {Colours::kGrey, 8}));
  CHECK_FALSE(decodes({.width = 10, .height = 10, .library_bytes = 1}, 300));
  CHECK(decodes({.width = 10, .height = 10, .library_bytes = 1}, 0));
}

TEST_CASE("a format that the build lacks is unsupported, and no bad content", "[decode]") {
  const auto decoder = image::make_missing_decoder("this spdld reads no ABC: build it with libabc");
  PixelRows rows;
  const auto size = decoder->open({}, true);
  REQUIRE_FALSE(size);
  CHECK(size.error().trouble == Trouble::kUnsupported);
  CHECK(size.error().message == "this spdld reads no ABC: build it with libabc");
  CHECK(decoder->decode({0, 0, 1, 1}, rows).error().trouble == Trouble::kUnsupported);
  CHECK_FALSE(decoder->planes());
}

}  // namespace
}  // namespace spdld::stored_codec_test
