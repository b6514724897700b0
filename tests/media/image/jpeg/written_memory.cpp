// Whatever a JPEG decoder gives depends on bytes that somebody wrote. valgrind, or the memory sanitizer, sees the
// others where a value decides something; here every sample does. Kept small: valgrind takes fifty times as long.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <random>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::written_memory_test {
namespace {

using Bytes = std::vector<uint8_t>;
using test::JpegOptions;

// Planes in memory that nobody has written.
class Planes {
 public:
  explicit Planes(const PlanesShape& shape)
      : layout_(shape),
        memory_(static_cast<uint8_t*>(std::aligned_alloc(PlanesLayout::kAlignment, aligned(layout_.bytes)))) {
    REQUIRE(memory_ != nullptr);
  }
  uint8_t* data() { return memory_.get(); }
  // How many samples of the box are bright. It looks at every one.
  uint64_t sum(const Box& box) const {
    PlanesView view;
    REQUIRE(view_planes(memory_.get(), layout_.bytes, view));
    uint64_t sum = 0;
    for (int c = 0; c < view.shape.planes(); ++c) {
      const int across = c == 0 ? 1 : view.shape.chroma_across, down = c == 0 ? 1 : view.shape.chroma_down;
      const auto at = static_cast<size_t>(c);
      for (int y = box.y / down; y <= (box.y + box.height - 1) / down; ++y)
        for (int x = box.x / across; x <= (box.x + box.width - 1) / across; ++x)
          if (view.plane[at][static_cast<size_t>(y) * view.stride_bytes[at] + static_cast<size_t>(x)] > 127) sum++;
    }
    return sum;
  }

 private:
  static size_t aligned(size_t bytes) {
    return (bytes + PlanesLayout::kAlignment - 1) / PlanesLayout::kAlignment * PlanesLayout::kAlignment;
  }
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  PlanesLayout layout_;
  std::unique_ptr<uint8_t, Free> memory_;
};

// The decoder that has opened a picture gives a box of it.
uint64_t decode(image::ImageDecoder& decoder, const Box& box) {
  Planes planes(*decoder.planes());
  return decoder.decode_planes(box, planes.data()) ? planes.sum(box) : 0;
}

// By all forms of the picture.
uint64_t decode_in_all_ways(image::ImageDecoder& decoder, const Bytes& jpeg, const Box& box) {
  if (!decoder.open(jpeg, true) || !decoder.planes()) return 0;
  const PlanesShape shape = *decoder.planes();
  const Box whole{0, 0, shape.picture.width, shape.picture.height};
  uint64_t sum = decode(decoder, box) + decode(decoder, whole);
  if (Bytes index(decoder.open(jpeg, true) ? decoder.index_bytes() : 0); !index.empty()) {
    Planes planes(shape);
    if (decoder.decode_and_index(box, planes.data(), index)) sum += planes.sum(box);
    if (decoder.open_indexed(jpeg, index, true, false, {})) sum += decode(decoder, box);
  }
  Planes planes(shape);
  std::span<const uint8_t> packed, plain;
  if (decoder.open(jpeg, true) && decoder.decode_and_pack(planes.data(), packed)) sum += planes.sum(whole);
  const Bytes kept(packed.begin(), packed.end());
  if (!kept.empty() && decoder.open_packed(kept, shape)) sum += decode(decoder, box);
  if (decoder.open(jpeg, true) && decoder.transcode(planes.data(), plain) && !plain.empty())
    for (const uint8_t byte : plain) sum += byte > 127;
  return sum;
}

}  // namespace

TEST_CASE("samples, indexes and packed coefficients depend on written bytes alone", "[valgrind]") {
  JpegOptions options;
  options.quality = 92;
  SECTION("plain") {}
  SECTION("with restart markers") { options.restart_interval = 3, options.subsampling = test::Subsampling::k422; }
  SECTION("grey") { options.grey = true; }
  SECTION("progressive") { options.progressive = true; }
  SECTION("a scan for each component") { options.separate_scans = true; }
  const Bytes jpeg = test::make_jpeg(101, 67, options);
  const auto decoder = image::make_jpeg_decoder();
  CHECK(decode_in_all_ways(*decoder, jpeg, {21, 17, 40, 30}) > 0);
  std::mt19937 random(1);
  for (int i = 0; i < 12; ++i) {
    Bytes damaged = jpeg;
    for (int change = 0; change < 3; ++change)
      damaged[jpeg.size() / 3 + random() % (jpeg.size() / 2)] = static_cast<uint8_t>(random());
    (void)decode_in_all_ways(*decoder, damaged, {21, 17, 40, 30});
  }
}

}  // namespace spdld::written_memory_test
