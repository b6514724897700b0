// Once its memory has grown, the way of a picture from bytes to tensor allocates nothing: neither we nor libjpeg.
#include <catch2/catch.hpp>
#include <string>

#include "config/checks/load.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/allocations.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/picture_chain.h"
#include "tests/support/steady.h"

namespace spdld {
namespace {

constexpr char kCropped[] = R"(
ops = [{ op = "decode-image" }, { op = "random-resized-crop", size = 64 }, { op = "resize", size = [50, 48] },
       { op = "horizontal-flip" }, { op = "normalize", mean = [0, 0, 0], std = [1, 1, 1], dtype = "float16" }]
)";
constexpr char kPieces[] = R"(
ops = [{ op = "decode-image" }, { op = "resize", size = 60 }, { op = "ten-crop", size = 50 }]
)";
constexpr char kGrid[] = R"(
ops = [{ op = "decode-image" }, { op = "grid", size = 40, tiles_max = 9, thumbnail = "last" }]
ragged = true
)";

constexpr char kPipeline[] = R"(
name = "steady"
[source]
type = "image-folder"
uri = "/"
[batch]
size = 1
[[output]]
name = "image"
from = "image"
)";

struct Path {
  explicit Path(const char* ops)
      : program(config::load_pipeline_toml(std::string(kPipeline) + ops, "steady.toml").value->outputs.front()) {}

  test::PictureChain program;
  std::unique_ptr<image::ImageDecoder> decoder = image::make_jpeg_decoder();
  image::Scratch scratch;
  image::Geometry geometry;
  PixelRows rows;
  std::vector<uint8_t> tensor = std::vector<uint8_t>(program.tensor().bytes());

  bool run(const std::vector<uint8_t>& jpeg, uint64_t sample) {
    const auto size = decoder->open(jpeg, true);
    if (!size) return false;
    program.resolve(*size, {1, 1, sample}, geometry);
    if (!decoder->decode(geometry.decoded, rows)) return false;
    program.render(rows, geometry, scratch, tensor.data());
    return true;
  }
};

TEST_CASE("the count of allocations counts", "[pixels]") {
  const long before = test::allocations();
  const auto memory = std::make_unique<std::vector<int>>(1000);
  CHECK((test::allocations() - before >= 2) == test::counts_allocations());
  CHECK(memory->size() == 1000);
}

TEST_CASE("decoding and rendering allocate nothing in steady state", "[pixels]") {
  std::vector<std::vector<uint8_t>> jpegs;
  for (int i = 0; i < 24; ++i) {
    test::JpegOptions options;
    options.grey = i % 5 == 1;
    options.cmyk = i % 5 == 2;
    options.progressive = i % 5 == 3;
    options.subsampling = i % 2 == 0 ? test::Subsampling::k420 : test::Subsampling::k444;
    options.exif_orientation = i % 9;
    jpegs.push_back(test::make_jpeg(200 + 10 * i, 400 - 9 * i, options));
  }
  Path path(GENERATE(kCropped, kPieces, kGrid));
  test::check_steady([&] {
    int failed = 0;
    for (size_t i = 0; i < jpegs.size(); ++i) failed += !path.run(jpegs[i], i);
    return failed;
  });
}

}  // namespace
}  // namespace spdld
