// Several frames of one file: which ones are taken, and what they have in common. tests/pixels/compare_pictures.py
// holds their pixels to Pillow's.
#include "daemon/media/image/codecs/frames.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/media/chain.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/node.h"
#include "tests/support/image_programs.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::frames_test {
namespace {

using Catch::Contains;
using Frames = std::vector<int>;

Frames spread(uint64_t count, int wanted) {
  Frames frames;
  image::spread_frames(count, wanted, frames);
  return frames;
}

TEST_CASE("frames are spread as numpy.linspace spreads them, rounded to even", "[frames]") {
  CHECK(spread(9, 1) == Frames{0});
  CHECK(spread(9, 9) == Frames{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(spread(6, 3) == Frames{0, 2, 5});
  CHECK(spread(4, 3) == Frames{0, 2, 3});
  CHECK(spread(2, 7) == Frames{0, 0, 0, 0, 1, 1, 1});
  CHECK(spread(1, 3) == Frames{0, 0, 0});
  CHECK(spread(10'000, 4) == Frames{0, 3333, 6666, 9999});
}

// The tensor that decode-image with three frames and these operations makes of the picture.
std::vector<uint8_t> run(const std::string& ops, const std::vector<uint8_t>& picture, uint64_t sample) {
  const test::PictureChain chain = test::PictureChain(test::output_of(ops, ", frames = 3"));
  std::vector<uint8_t> tensor(chain.tensor().bytes());
  const media::TensorOut out{.memory = tensor.data()};
  const Draws draws{5, 0, sample};
  media::Workspace workspace;
  media::Field field{.bytes = picture};
  media::Value value{.bytes = picture};
  const Status done = chain.chain().run(value, {sample, draws, workspace, &field, {&out, 1}});
  INFO((done ? "" : done.error().message));
  REQUIRE(done);
  return tensor;
}

std::array<std::vector<uint8_t>, 3> thirds(const std::vector<uint8_t>& tensor) {
  const auto size = static_cast<ptrdiff_t>(tensor.size() / 3);
  const auto part = [&](ptrdiff_t at) {
    return std::vector<uint8_t>(tensor.begin() + at * size, tensor.begin() + (at + 1) * size);
  };
  return {part(0), part(1), part(2)};
}

TEST_CASE("a file of one picture gives it for each frame, with the same random draws", "[frames]") {
  const std::string ops =
      "{ op = \"random-resized-crop\", size = [12, 10] }, { op = \"horizontal-flip\" }, { op = \"color-jitter\", "
      "brightness = 0.5 }";
  std::vector<uint8_t> first;
  for (uint64_t sample = 0; sample < 8; ++sample) {
    for (const auto& picture : {test::make_jpeg(40, 30), test::make_png(40, 30).bytes}) {
      const auto [one, two, three] = thirds(run(ops, picture, sample));
      CHECK(one == two);
      CHECK(one == three);
      if (sample == 0) first = one;
      if (sample == 7) CHECK(one != first);
    }
  }
}

TEST_CASE("each frame has noise of its own", "[frames]") {
  const std::string ops = "{ op = \"center-crop\", size = [20, 20] }, { op = \"gaussian-noise\" }";
  const auto [one, two, three] = thirds(run(ops, test::make_jpeg(40, 30), 3));
  CHECK(one != two);
  CHECK(two != three);
  CHECK(one != three);
}

TEST_CASE("an animation that is decoded as one picture has no frames to take", "[frames]") {
  const auto decoder = image::make_image_decoder();
  std::vector<uint8_t> png = test::make_png(9, 7).bytes;
  // An acTL chunk behind the header: its checksum does not matter.
  const std::vector<uint8_t> chunk = {0, 0, 0, 8, 'a', 'c', 'T', 'L', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0};
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());
  CHECK(decoder->open(png, true));
  const auto refused = decoder->open(png, true, false, {.frames = 2});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kUnsupported);
  CHECK(refused.error().message == "several frames are wanted, and this spdld decodes one picture of a PNG");
}

TEST_CASE("a file has at most so many frames", "[frames]") {
  CHECK(image::check_frame_count("a GIF", image::kFramesMax));
  const Status refused = image::check_frame_count("a TIFF", image::kFramesMax + 1, "page");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kContent);
  CHECK_THAT(refused.error().message, Contains("a TIFF of more than 10000 pages"));
}

}  // namespace
}  // namespace spdld::frames_test
