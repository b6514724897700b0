// decode-image with `fast`: the pixels of the plain way, closely, at the same places; and the plain way itself where
// nothing can be reduced. A plan decodes and renders as it does in a pipeline.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "config/checks/load.h"
#include "daemon/pipeline/plan.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/allocations.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/picture_chain.h"
#include "tests/support/planes_memory.h"

namespace spdld {
namespace {

using Bytes = std::vector<uint8_t>;
using test::JpegOptions;
using test::kPlanesKinds;
using test::PlanesKind;
using test::Subsampling;

config::PipelineSpec spec_of(const std::string& decode_options, const std::string& ops) {
  auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n[[output]]\n"
      "name = \"image\"\nfrom = \"text\"\nops = [{ op = \"decode-image\"" +
          decode_options + " }, " + ops + "]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

// One output of interleaved RGB.
class Chain {
 public:
  Chain(const std::string& decode_options, const std::string& ops)
      : plan_(spec_of(decode_options, ops), listing_),
        layout_(plan_.tensors(), 1, 64 << 20),
        slot_(layout_.slot_bytes()) {}

  bool run(const Bytes& jpeg, uint64_t sample) {
    pipeline::FieldBytes field;
    field.bytes = jpeg;
    return bool(plan_.run({listing_, sample, {&field, 1}}, {1, 1, sample}, context_, {layout_, slot_.data(), 0}));
  }
  Bytes pixels(const Bytes& jpeg, uint64_t sample) {
    REQUIRE(run(jpeg, sample));
    return Bytes(slot_.begin(), slot_.begin() + static_cast<ptrdiff_t>(plan_.tensors()[0].sample_bytes));
  }
  const image::Geometry& geometry() { return context_.workspace.of<image::PictureWork>().geometry; }

 private:
  test::FakeListing listing_{1000};
  pipeline::Plan plan_;
  batch::Layout layout_;
  Bytes slot_;
  pipeline::DecodeContext context_;
};

constexpr char kPlain[] = "", kFast[] = ", fast = true";

// Of all values, and of luma, Cb and Cr, so that chroma is not hidden behind luma.
struct Psnr {
  double rgb = 0;
  std::array<double, 3> parts{};
};

double psnr(double squares, size_t count) {
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(count) / std::max(squares, 1e-9));
}

Psnr psnr(const Bytes& a, const Bytes& b) {
  constexpr double kParts[3][3] = {{0.299, 0.587, 0.114}, {-0.1687, -0.3313, 0.5}, {0.5, -0.4187, -0.0813}};
  double squares = 0, of_part[3] = {};
  for (size_t i = 0; i < a.size(); i += 3) {
    double part[3] = {};
    for (size_t k = 0; k < 3; ++k) {
      const double difference = a[i + k] - b[i + k];
      squares += difference * difference;
      for (size_t c = 0; c < 3; ++c) part[c] += kParts[c][k] * difference;
    }
    for (size_t c = 0; c < 3; ++c) of_part[c] += part[c] * part[c];
  }
  Psnr found{psnr(squares, a.size()), {}};
  for (size_t c = 0; c < 3; ++c) found.parts[c] = psnr(of_part[c], a.size() / 3);
  return found;
}

Bytes jpeg_of(const PlanesKind& kind, const Size& size, uint32_t seed) {
  JpegOptions options;
  options.grey = kind.grey;
  options.subsampling = kind.subsampling;
  options.seed = seed;
  options.progressive = seed % 4 == 3;
  return test::make_jpeg(size.width, size.height, options);
}

// Boxes at any place and of any size, mirrored or not, and a chain of two passes.
std::vector<std::string> chains(int side) {
  const std::string height = std::to_string(side), width = std::to_string(side + 5), most = std::to_string(side + 20);
  return {"{ op = \"random-resized-crop\", size = [" + height + ", " + width +
              "], scale = [0.4, 1] }, { op = \"horizontal-flip\" }",
          "{ op = \"resize\", size = " + most + " }, { op = \"center-crop\", size = " + height + " }",
          "{ op = \"center-crop\", size = [601, 703] }, { op = \"resize\", size = [" + height + ", " + width +
              "] }, { op = \"resize\", size = [31, 29] }, { op = \"horizontal-flip\", p = 1.0 }"};
}

TEST_CASE("fast pictures are close to plain ones, for every sampling and reduction", "[pixels]") {
  const auto& kind = GENERATE(from_range(std::begin(kPlanesKinds), std::end(kPlanesKinds)));
  CAPTURE(kind.grey, static_cast<int>(kind.subsampling));
  struct Found {
    int count = 0;
    double rgb = 200, part = 200;  // the worst
  };
  std::map<int, Found> by_reduction;
  for (const Size& size : {Size{803, 611}, Size{997, 1021}, Size{640, 800}}) {
    const Bytes jpeg = jpeg_of(kind, size, static_cast<uint32_t>(size.width));
    for (const int side : {30, 62, 115}) {
      for (const auto& ops : chains(side)) {
        Chain plain(kPlain, ops), fast(kFast, ops);
        for (uint64_t sample = 0; sample < 8; ++sample) {
          const Psnr found = psnr(fast.pixels(jpeg, sample), plain.pixels(jpeg, sample));
          Found& worst = by_reduction[fast.geometry().reduction];
          ++worst.count;
          worst.rgb = std::min(worst.rgb, found.rgb);
          for (const double part : found.parts) worst.part = std::min(worst.part, part);
          REQUIRE(plain.geometry().reduction == 1);
        }
      }
    }
  }
  CHECK(by_reduction[1].part > 100);  // the same pixels
  for (const int reduction : {2, 4, 8}) {
    CAPTURE(reduction);
    // Chroma that has half the samples is not reduced by 8 beside that.
    const bool is_halved = kind.subsampling == Subsampling::k422 || kind.subsampling == Subsampling::k440;
    CHECK((by_reduction[reduction].count >= 20) == !(is_halved && reduction == 8));
    CHECK(by_reduction[reduction].rgb >= 40);
    CHECK(by_reduction[reduction].part >= 40);
  }
}

// `jpeg` through the program, from whole planes, with its box moved so many pixels to the right and down.
Bytes moved(const test::PictureChain& program, const Bytes& jpeg, int right, int down) {
  const auto decoder = image::make_jpeg_decoder();
  const auto size = decoder->open(jpeg, true);
  test::PlanesMemory memory(*decoder->planes(), 0);
  PlanesView view;
  REQUIRE(decoder->decode_planes(memory.data()));
  REQUIRE(view_planes(memory.data(), memory.size(), view));
  image::Geometry geometry;
  image::Scratch scratch;
  program.resolve(*size, {}, geometry);
  geometry.passes.front().box.x += right;
  geometry.passes.front().box.y += down;
  Bytes pixels(program.tensor().bytes());
  program.render(view, geometry, scratch, pixels.data());
  return pixels;
}

TEST_CASE("a shift of half a wanted pixel would show", "[pixels]") {
  const PlanesKind& kind = kPlanesKinds[static_cast<size_t>(GENERATE(0, 1, 2, 3))];
  const int side = GENERATE(30, 62, 115);
  const Bytes jpeg = jpeg_of(kind, {803, 611}, 2);
  const std::string ops = "{ op = \"center-crop\", size = [500, 600] }, { op = \"resize\", size = [" +
                          std::to_string(side) + ", " + std::to_string(side) + "] }";
  Chain fast(kFast, ops);
  const test::PictureChain plain(spec_of(kPlain, ops).outputs.front());
  const Bytes found = fast.pixels(jpeg, 0);
  CHECK(fast.geometry().reduction > 1);
  const Psnr in_place = psnr(found, moved(plain, jpeg, 0, 0));
  CHECK(in_place.rgb >= 40);
  const int across = 600 / side / 2, down = 500 / side / 2;
  for (const auto& [x, y] : {std::pair{across, 0}, {-across, 0}, {0, down}, {0, -down}}) {
    const Psnr elsewhere = psnr(found, moved(plain, jpeg, x, y));
    CAPTURE(side, x, y);
    CHECK(elsewhere.rgb < 40);
    for (size_t c = 0; c < 3; ++c) CHECK(elsewhere.parts[c] < in_place.parts[c] - 3);
  }
}

TEST_CASE("what can't be reduced is decoded plainly", "[pixels]") {
  const std::string crop = "{ op = \"random-resized-crop\", size = 40, scale = [0.5, 1] }";
  const auto is_plain = [](const Bytes& jpeg, const std::string& ops, const std::string& options = "") {
    Chain plain(options, ops), fast(options + kFast, ops);
    for (uint64_t sample = 0; sample < 4; ++sample)
      if (fast.pixels(jpeg, sample) != plain.pixels(jpeg, sample)) return false;
    return true;
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    JpegOptions options;
    options.exif_orientation = orientation;
    const Bytes jpeg = test::make_jpeg(403, 517, options);
    CAPTURE(orientation);
    CHECK(is_plain(jpeg, crop) == (orientation > 1));  // a turned picture has no planes
    CHECK_FALSE(is_plain(jpeg, crop, ", exif = false"));
    Chain plain(kPlain, crop), fast(kFast, crop);
    CHECK(psnr(fast.pixels(jpeg, 9), plain.pixels(jpeg, 9)).rgb >= 40);
  }
  JpegOptions inks, odd;
  inks.cmyk = true;
  odd.subsampling = Subsampling::k411;
  CHECK(is_plain(test::make_jpeg(403, 517, inks), crop));
  CHECK(is_plain(test::make_jpeg(403, 517, odd), crop));
  const Bytes jpeg = test::make_jpeg(403, 517);
  CHECK_FALSE(is_plain(jpeg, crop));
  CHECK(is_plain(jpeg, "{ op = \"random-resized-crop\", size = 40, antialias = false }"));
  CHECK(is_plain(jpeg, "{ op = \"center-crop\", size = 40 }"));
  CHECK(is_plain(jpeg, "{ op = \"resize\", size = [40, 200] }"));  // across only
}

TEST_CASE("fast decoding allocates nothing in steady state", "[pixels]") {
  Chain fast(kFast, "{ op = \"random-resized-crop\", size = 40 }, { op = \"horizontal-flip\" }");
  std::vector<Bytes> jpegs;
  for (uint32_t i = 0; i < 20; ++i)
    jpegs.push_back(jpeg_of(kPlanesKinds[i % 5], {400 + 13 * static_cast<int>(i), 700 - 11 * static_cast<int>(i)}, i));
  int failed = 0, reduced = 0;
  const auto round = [&] {
    for (size_t i = 0; i < jpegs.size(); ++i) {
      failed += !fast.run(jpegs[i], i);
      reduced += fast.geometry().reduction > 1;
    }
  };
  round();  // memory grows
  round();  // ... and what was in pieces is put together
  const long before = test::allocations();
  for (int k = 0; k < 3; ++k) round();
  const long counted = test::allocations() - before;
  CHECK(counted == 0);
  CHECK(failed == 0);
  CHECK(reduced > 50);
}

}  // namespace
}  // namespace spdld
