// Rendering from a JPEG's planes beside rendering from its full-size RGB: the same pixels, within rounding.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/media/image/on_all_sets.h"
#include "tests/support/allocations.h"
#include "tests/support/image_programs.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"
#include "tests/support/rounds.h"

namespace spdld::planes_test {
namespace {

constexpr uint64_t kSamples = test::rounds(6);  // whose draws are tried on each picture

using test::kPlanesKinds;
using test::PlanesKind;
using test::Subsampling;

struct Planes {
  std::vector<uint8_t> memory;
  PlanesView view;
};

Planes make_planes(const PlanesShape& shape) {
  const PlanesLayout layout(shape);
  Planes planes;
  planes.memory.assign(layout.bytes, 0);
  planes.view = {shape, {}, layout.stride_bytes};
  for (size_t i = 0; i < static_cast<size_t>(shape.planes()); ++i) {
    planes.view.plane[i] = planes.memory.data() + layout.offset[i];
  }
  return planes;
}

// libjpeg's raw output has whole blocks, of which the planes keep what the picture has.
Planes raw_planes(const std::vector<uint8_t>& jpeg) {
  const auto raw = test::raw_plainly(jpeg);
  REQUIRE(!raw.empty());
  PlanesShape shape{{raw[0].width, raw[0].height}, 1, 1, raw.size() == 1};
  if (!shape.grey) {
    shape.chroma_across = static_cast<uint8_t>(raw[0].sampling.across / raw[1].sampling.across);
    shape.chroma_down = static_cast<uint8_t>(raw[0].sampling.down / raw[1].sampling.down);
  }
  Planes planes = make_planes(shape);
  for (size_t c = 0; c < raw.size(); ++c) {
    auto* plane = const_cast<uint8_t*>(planes.view.plane[c]);
    for (size_t y = 0; y < static_cast<size_t>(raw[c].height); ++y) {
      std::memcpy(plane + planes.view.stride_bytes[c] * y,
                  raw[c].samples.data() + static_cast<size_t>(raw[c].stride) * y, static_cast<size_t>(raw[c].width));
    }
  }
  return planes;
}

PixelRows full_rows(const std::vector<uint8_t>& jpeg) {
  int width = 0, height = 0;
  const auto pixels = test::decode_plainly(jpeg, width, height);
  PixelRows rows;
  rows.covers = {0, 0, width, height};
  rows.picture = {width, height};
  rows.stride_bytes = static_cast<size_t>(width) * 3;
  REQUIRE(pixels.size() == rows.stride_bytes * static_cast<size_t>(height));
  std::memcpy(rows.memory.resize(pixels.size() + PixelRows::kSlackBytes), pixels.data(), pixels.size());
  return rows;
}

double psnr(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return squares == 0 ? 100 : 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / squares);
}

std::vector<uint8_t> render(const test::PictureChain& program, const PlanesView& view, const Draws& draws) {
  image::Geometry geometry;
  image::Scratch scratch;
  std::vector<uint8_t> tensor(program.tensor().bytes() + 64, 0x5C);
  program.resolve(view.shape.picture, draws, geometry);
  program.render(view, geometry, scratch, tensor.data());
  for (size_t i = program.tensor().bytes(); i < tensor.size(); ++i) {
    if (tensor[i] != 0x5C) FAIL("written behind the tensor's end");
  }
  tensor.resize(program.tensor().bytes());
  return tensor;
}

std::vector<uint8_t> jpeg_of(const PlanesKind& kind, const Size& size, uint32_t seed) {
  test::JpegOptions options;
  options.grey = kind.grey;
  options.subsampling = kind.subsampling;
  options.seed = seed;
  return test::make_jpeg(size.width, size.height, options);
}

TEST_CASE("planes give the pixels of full-size RGB, for every sampling and many boxes", "[transform]") {
  const std::string ops =
      GENERATE(as<std::string>(), R"({ op = "random-resized-crop", size = 64 }, { op = "horizontal-flip" })",
               R"({ op = "random-resized-crop", size = [150, 90], antialias = false })",
               R"({ op = "resize", size = 100 }, { op = "center-crop", size = 90 })",
               R"({ op = "center-crop", size = [120, 81] }, { op = "horizontal-flip" })",
               R"({ op = "random-resized-crop", size = 50 }, { op = "resize", size = [30, 70] })",
               R"({ op = "center-crop", size = [20, 400] }, { op = "horizontal-flip" })",
               R"({ op = "ten-crop", size = [70, 90], vertical_flip = true })",
               R"({ op = "resize", size = 60 }, { op = "ten-crop", size = 50 })");
  const auto program = test::program_of(ops);
  double worst = 100, sum = 0;
  int count = 0;
  for (const PlanesKind& kind : kPlanesKinds) {
    for (const Size& size : {Size{201, 149}, Size{320, 240}, Size{97, 333}, Size{130, 122}}) {
      const auto jpeg = jpeg_of(kind, size, static_cast<uint32_t>(size.width));
      const PixelRows rows = full_rows(jpeg);
      const Planes planes = raw_planes(jpeg);
      for (uint64_t sample = 0; sample < 2 * kSamples; ++sample) {
        const Draws draws{3, 1, sample};
        const double found = psnr(render(program, planes.view, draws), test::render(program, rows, draws).tensor);
        worst = std::min(worst, found);
        sum += found;
        ++count;
      }
    }
  }
  CAPTURE(ops, worst, sum / count);
  CHECK(worst >= 44);
  CHECK(sum / count >= 50);
}

constexpr Size kExactSizes[] = {{201, 149}, {320, 240}, {97, 333}, {3, 7}, {4, 1}, {1, 2}, {2, 2}, {5, 40}, {1, 1}};

// From the planes of pictures of all kinds and sizes, and from their RGB by libjpeg.
void check_exact(const test::PictureChain& program) {
  for (const PlanesKind& kind : kPlanesKinds) {
    for (const Size& size : kExactSizes) {
      const auto jpeg = jpeg_of(kind, size, static_cast<uint32_t>(size.width));
      const PixelRows rows = full_rows(jpeg);
      const Planes planes = raw_planes(jpeg);
      for (uint64_t sample = 0; sample < kSamples; ++sample) {
        const Draws draws{3, 1, sample};
        CAPTURE(size.width, size.height, kind.grey, static_cast<int>(kind.subsampling), sample);
        REQUIRE(render(program, planes.view, draws) == test::render(program, rows, draws).tensor);
      }
    }
  }
}

TEST_CASE("pixels that are not resized are libjpeg's from planes, bit for bit", "[transform]") {
  const std::string ops = GENERATE(
      as<std::string>(), R"({ op = "center-crop", size = 400 })",
      R"({ op = "center-crop", size = [61, 83] }, { op = "convert", layout = "NCHW" })",
      R"({ op = "random-crop", size = [31, 20] }, { op = "horizontal-flip" }, { op = "vertical-flip" })",
      R"({ op = "random-crop", size = 1 }, { op = "normalize", mean = [0, 0, 0], std = [1, 1, 1] })",
      R"({ op = "pad-to", size = 340 }, { op = "ten-crop", size = [70, 90], vertical_flip = true })",
      R"({ op = "horizontal-flip", p = 1 }, { op = "invert", p = 1 }, { op = "center-crop", size = [40, 33] })",
      R"({ op = "pad", padding = 3 }, { op = "resize", size = [40, 70] })",
      R"({ op = "brightness", factor = [0.6, 1.4] }, { op = "random-resized-crop", size = 40 })");
  CAPTURE(ops);
  check_exact(test::program_of(ops));
}

TEST_CASE("a picture that has the size which a resize asks for has libjpeg's pixels", "[transform]") {
  const auto program = test::program_of(R"({ op = "resize", size = [149, 201] })");
  for (const PlanesKind& kind : kPlanesKinds) {
    const auto jpeg = jpeg_of(kind, {201, 149}, 4);
    CHECK(render(program, raw_planes(jpeg).view, {}) == test::render(program, full_rows(jpeg)).tensor);
  }
}

TEST_CASE("a program that resamples as Pillow gives the same pixels from planes and from rows", "[transform]") {
  const std::string ops = GENERATE(
      as<std::string>(), R"({ op = "resize", size = [23, 29] })", R"({ op = "resize", size = [300, 180] })",
      R"({ op = "random-resized-crop", size = 64, scale = [0.02, 1] }, { op = "horizontal-flip" })",
      R"({ op = "vertical-flip", p = 1 }, { op = "horizontal-flip" }, { op = "random-resized-crop", size = 20 })",
      R"({ op = "resize", size = 50, antialias = false }, { op = "center-crop", size = 45 })",
      R"({ op = "random-resized-crop", size = 40, filter = "bicubic" }, { op = "resize", size = 21 }, { op = "center-crop", size = 20 })",
      R"({ op = "grid", size = 30, grids = "2x3,3x2,1x6,6x1" })",
      R"({ op = "resize", size = 60 }, { op = "ten-crop", size = 50 })");
  CAPTURE(ops);
  check_exact(test::PictureChain(test::output_of(ops, ", resampling = \"pillow\"")));
}

TEST_CASE("a program that resamples as Pillow gives the same pixels on every instruction set", "[transform]") {
  const test::PictureChain program(
      test::output_of(R"({ op = "random-resized-crop", size = 64 })", R"(, resampling = "pillow")"));
  for (const PlanesKind& kind : kPlanesKinds) {
    const auto jpeg = jpeg_of(kind, {201, 149}, 9);
    const Planes planes = raw_planes(jpeg);
    CHECK((test::on_all_sets([&] {
             return render(program, planes.view, {3, 1, 2});
           }) == test::render(program, full_rows(jpeg), {3, 1, 2}).tensor));
  }
}

TEST_CASE("other filters give the pixels of libjpeg's RGB from planes, bit for bit", "[transform]") {
  const std::string filter = GENERATE(as<std::string>(), "nearest", "bicubic", "lanczos", "box");
  const std::string by = ", filter = \"" + filter + "\" }";
  const std::vector<test::PictureChain> programs = [&] {
    std::vector<test::PictureChain> made;
    made.push_back(
        test::program_of(R"({ op = "random-resized-crop", size = 64)" + by + R"(, { op = "horizontal-flip" })"));
    made.push_back(
        test::program_of(R"({ op = "resize", size = [70, 131])" + by + R"(, { op = "center-crop", size = 50 })"));
    made.push_back(
        test::program_of(R"({ op = "vertical-flip", p = 1 }, { op = "random-resized-crop", size = 20)" + by));
    made.push_back(test::program_of(R"({ op = "random-resized-crop", size = 20, scale = [0.01, 0.1])" + by));
    made.push_back(test::program_of(R"({ op = "grid", size = 30, grids = "2x3,3x2,1x6,6x1")" + by));
    return made;
  }();
  for (const PlanesKind& kind : kPlanesKinds) {
    for (const Size& size : {Size{201, 149}, Size{320, 240}, Size{97, 333}, Size{3, 7}, Size{4, 1}, Size{1, 2}}) {
      const auto jpeg = jpeg_of(kind, size, static_cast<uint32_t>(size.width));
      const PixelRows rows = full_rows(jpeg);
      const Planes planes = raw_planes(jpeg);
      for (const test::PictureChain& program : programs) {
        for (uint64_t sample = 0; sample < kSamples; ++sample) {
          const Draws draws{3, 1, sample};
          CAPTURE(filter, size.width, size.height, kind.grey, static_cast<int>(kind.subsampling), sample);
          REQUIRE(render(program, planes.view, draws) == test::render(program, rows, draws).tensor);
        }
      }
    }
  }
}

TEST_CASE("exact pixels need no more of the planes than a decoder gives for their box", "[transform]") {
  const auto program = test::program_of(GENERATE(
      as<std::string>(),
      R"({ op = "random-resized-crop", size = 40, filter = "lanczos", scale = [0.02, 0.3] }, { op = "vertical-flip" })",
      R"({ op = "random-crop", size = [41, 37] }, { op = "horizontal-flip" })"));
  const auto decoder = image::make_jpeg_decoder();
  for (const PlanesKind& kind : kPlanesKinds) {
    const auto jpeg = jpeg_of(kind, {301, 247}, 8);
    const PixelRows rows = full_rows(jpeg);
    for (uint64_t sample = 0; sample < 20; ++sample) {
      const Draws draws{3, 1, sample};
      image::Geometry geometry;
      image::Scratch scratch;
      std::vector<uint8_t> tensor(program.tensor().bytes());
      const auto size = decoder->open(jpeg, true);
      program.resolve(*size, draws, geometry);
      test::PlanesMemory memory(*decoder->planes(), sample % 2 == 0 ? 0x00 : 0xFF);
      PlanesView view;
      REQUIRE(decoder->decode_planes(geometry.decoded, memory.data()));
      REQUIRE(view_planes(memory.data(), memory.size(), view));
      program.render(view, geometry, scratch, tensor.data());
      CAPTURE(kind.grey, static_cast<int>(kind.subsampling), sample);
      REQUIRE(tensor == test::render(program, rows, draws).tensor);
    }
  }
}

TEST_CASE("planes of tiny pictures are upsampled as libjpeg does it, up to the border", "[transform]") {
  const auto program = test::program_of(R"({ op = "resize", size = [23, 29], antialias = false })");
  for (const PlanesKind& kind : kPlanesKinds) {
    for (int width = 1; width <= 9; ++width) {
      for (int height = 1; height <= 9; ++height) {
        const auto jpeg = jpeg_of(kind, {width, height}, static_cast<uint32_t>(100 * width + height));
        const auto from_planes = render(program, raw_planes(jpeg).view, {});
        const auto from_rows = test::render(program, full_rows(jpeg)).tensor;
        CAPTURE(kind.grey, static_cast<int>(kind.subsampling), width, height);
        // libjpeg rounds twice more on the way; and cuts colours that no screen has, pixel by pixel.
        CHECK(psnr(from_planes, from_rows) >= 44);
      }
    }
  }
}

TEST_CASE("each float and integer tensor from planes has the same pixels", "[transform]") {
  const auto jpeg = jpeg_of(kPlanesKinds[2], {300, 200}, 5);
  const Planes planes = raw_planes(jpeg);
  const std::string crop = R"({ op = "random-resized-crop", size = [224, 224] }, { op = "horizontal-flip" }, )";
  const auto pixels = render(test::program_of(crop + R"({ op = "convert", dtype = "uint8", layout = "NHWC" })"),
                             planes.view, {1, 1, 1});
  const auto bytes = render(test::program_of(crop + R"({ op = "convert", dtype = "uint8", layout = "NCHW" })"),
                            planes.view, {1, 1, 1});
  constexpr size_t kPlane = 224 * 224;
  size_t wrong = 0;
  for (size_t i = 0; i < pixels.size(); ++i) wrong += bytes[i % 3 * kPlane + i / 3] != pixels[i];
  CHECK(wrong == 0);
  for (const bool planar : {false, true}) {
    const auto floats =
        render(test::program_of(crop + R"({ op = "convert", dtype = "float32", scale = 1.0, layout = ")" +
                                (planar ? "NCHW" : "NHWC") + "\" }"),
               planes.view, {1, 1, 1});
    wrong = 0;
    for (size_t i = 0; i < pixels.size(); ++i) {
      float value = 0;
      std::memcpy(&value, floats.data() + (planar ? i % 3 * kPlane + i / 3 : i) * sizeof value, sizeof value);
      wrong += value != static_cast<float>(pixels[i]);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("planes of one colour stay it", "[transform]") {
  const auto program = test::program_of(R"({ op = "random-resized-crop", size = 40 })");
  for (const auto& [y, cb, cr, red, green, blue] : {std::tuple{0, 128, 128, 0, 0, 0},
                                                    {255, 128, 128, 255, 255, 255},
                                                    {128, 128, 128, 128, 128, 128},
                                                    {76, 85, 255, 254, 0, 0},
                                                    {150, 44, 21, 0, 255, 1},
                                                    {29, 255, 107, 0, 0, 254},
                                                    {255, 255, 255, 255, 121, 255}}) {
    Planes planes = make_planes({{111, 95}, 2, 2, false});
    const int values[3] = {y, cb, cr};
    for (int c = 0; c < 3; ++c) {
      const auto at = static_cast<size_t>(c);
      const auto bytes = planes.view.stride_bytes[at] * static_cast<size_t>(planes.view.shape.plane(c).height);
      std::memset(const_cast<uint8_t*>(planes.view.plane[at]), values[c], bytes);
    }
    const auto tensor = render(program, planes.view, {1, 1, 4});
    const int wanted[3] = {red, green, blue};
    int farthest = 0;
    for (size_t i = 0; i < tensor.size(); ++i) farthest = std::max(farthest, std::abs(tensor[i] - wanted[i % 3]));
    CAPTURE(y, cb, cr);
    CHECK(farthest == 0);
  }
}

TEST_CASE("rendering from planes allocates nothing once its memory has grown", "[transform]") {
  const std::string decode = GENERATE(as<std::string>(), "", R"(, resampling = "pillow")");
  const std::string first = GENERATE(
      as<std::string>(), R"({ op = "random-resized-crop", size = 96 })", R"({ op = "center-crop", size = [96, 230] })",
      R"({ op = "random-resized-crop", size = 96, filter = "lanczos" })",
      R"({ op = "random-resized-crop", size = 96, filter = "nearest" }, { op = "resize", size = [50, 48] })");
  const test::PictureChain program(test::output_of(first + R"(, { op = "horizontal-flip" }, { op = "vertical-flip" },
         { op = "normalize", mean = [0, 0, 0], std = [1, 1, 1], dtype = "float16" })",
                                                   decode));
  image::Scratch scratch;
  image::Geometry geometry;
  std::vector<uint8_t> tensor(program.tensor().bytes());
  std::vector<Planes> pictures;
  for (const uint8_t across : {uint8_t{1}, uint8_t{2}}) {
    for (const uint8_t down : {uint8_t{1}, uint8_t{2}}) {
      for (int i = 0; i < 5; ++i) pictures.push_back(make_planes({{200 + 31 * i, 400 - 37 * i}, across, down, i == 4}));
    }
  }
  const auto round = [&] {
    for (size_t i = 0; i < pictures.size(); ++i) {
      program.resolve(pictures[i].view.shape.picture, {1, 1, i}, geometry);
      program.render(pictures[i].view, geometry, scratch, tensor.data());
    }
  };
  round();
  const long before = test::allocations();
  round();
  const long counted = test::allocations() - before;
  const auto memory = std::make_unique<int>(1);
  const long counted_at_last = test::allocations() - before;
  CHECK(counted == 0);
  CHECK((counted_at_last > 0) == test::counts_allocations());  // it does count
}

// Grey of a JPEG in colours, decoded as rows and as planes.
struct Luma {
  PixelRows rows;
  std::vector<uint8_t> planes;
};

Luma luma_of(image::ImageDecoder& decoder, const std::vector<uint8_t>& jpeg) {
  constexpr image::Pixels kGrey{image::Colours::kGrey, 8};
  Luma luma;
  const auto size = decoder.open(jpeg, false, false, kGrey);
  REQUIRE(size);
  REQUIRE(decoder.decode({0, 0, size->width, size->height}, luma.rows));
  REQUIRE(luma.rows.format == PixelFormat{1, 1});
  REQUIRE(decoder.open(jpeg, false, false, kGrey));
  const auto shape = decoder.planes();
  REQUIRE(shape);
  REQUIRE(shape->grey);
  ByteBuffer memory;
  const size_t bytes = PlanesLayout(*shape).bytes;
  auto* aligned = memory.resize(bytes + PlanesLayout::kAlignment);
  aligned += PlanesLayout::kAlignment - reinterpret_cast<uintptr_t>(aligned) % PlanesLayout::kAlignment;
  REQUIRE(decoder.decode_planes(aligned));
  luma.planes.assign(aligned, aligned + bytes);
  return luma;
}

TEST_CASE("grey of a JPEG is its luma, from rows and from planes alike", "[transform]") {
  const auto decoder = image::make_jpeg_decoder();
  const auto grey = test::grey_program_of(R"({ op = "random-resized-crop", size = 64 }, { op = "horizontal-flip" })");
  CHECK(grey.tensor().shape == std::vector<int64_t>{64, 64, 1});
  for (const PlanesKind& kind : kPlanesKinds) {
    const Size size{201, 149};
    const auto jpeg = jpeg_of(kind, size, 7);
    const Luma luma = luma_of(*decoder, jpeg);
    PlanesView view;
    REQUIRE(view_planes(luma.planes.data(), luma.planes.size(), view));
    for (int y = 0; y < size.height; ++y)
      REQUIRE(std::memcmp(luma.rows.row(y), view.plane[0] + view.stride_bytes[0] * static_cast<size_t>(y),
                          static_cast<size_t>(size.width)) == 0);
    const Planes coloured = raw_planes(jpeg);
    for (uint64_t sample = 0; sample < kSamples; ++sample) {
      const Draws draws{3, 1, sample};
      const auto of_planes = render(grey, view, draws);
      CHECK(of_planes == render(grey, coloured.view, draws));  // chroma is not looked at
      CHECK(of_planes == test::render(grey, luma.rows, draws).tensor);
    }
  }
}

}  // namespace
}  // namespace spdld::planes_test
