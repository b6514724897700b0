// aspect-bucket: the box of the resized picture that it cuts out, and the tensor of each size.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/support/image_programs.h"

namespace spdld::aspect_bucket_test {
namespace {

using test::noise;
using test::program_of;

const std::string kSizes = "sizes = [\"20x20\", \"12x30\", \"30x12\"]";

test::Rendered render(const std::string& ops, const PixelRows& rows, uint32_t shape, const Draws& draws = {}) {
  const auto program = program_of(ops);
  test::Rendered made;
  made.geometry.shape = shape;
  program.resolve(rows.picture, draws, made.geometry);
  made.tensor.assign(program.tensor().bytes(), 0x5C);
  image::Scratch scratch;
  program.render(test::part_of(rows, made.geometry.decoded), made.geometry, scratch, made.tensor.data());
  return made;
}

// What a resize and a crop of their own give.
std::vector<uint8_t> expected(const PixelRows& rows, const Size& resized, const Size& size,
                              const std::string& options) {
  const std::string resize = "{ op = \"resize\", size = [" + std::to_string(resized.height) + ", " +
                             std::to_string(resized.width) + "]" + options + " }";
  const Size left{resized.width - size.width, resized.height - size.height};
  const auto whole = test::render(program_of(resize), rows).tensor;
  std::vector<uint8_t> cut;
  for (int y = 0; y < size.height; ++y) {
    const auto first = whole.begin() + 3 * ((y + left.height / 2) * resized.width + left.width / 2);
    cut.insert(cut.end(), first, first + 3 * size.width);
  }
  return cut;
}

TEST_CASE("a picture covers its batch's size, and the middle is cut out", "[buckets]") {
  const PixelRows rows = noise({83, 61}, 4);
  for (const std::string options : {"", ", filter = \"bicubic\""}) {
    const std::string op = "{ op = \"aspect-bucket\", " + kSizes + options + " }";
    // 83 x 61 covers 20 x 20 as 27 x 20, 30 x 12 as 30 x 22, and 12 x 30 as 41 x 30.
    const std::array<Size, 3> resized = {Size{27, 20}, Size{30, 22}, Size{41, 30}};
    const std::array<Size, 3> sizes = {Size{20, 20}, Size{30, 12}, Size{12, 30}};
    for (uint32_t shape = 0; shape < 3; ++shape) {
      CAPTURE(options, shape);
      const auto made = render(op, rows, shape).tensor;
      const auto wanted = expected(rows, resized[shape], sizes[shape], options);
      REQUIRE(std::equal(wanted.begin(), wanted.end(), made.begin()));
      for (size_t i = wanted.size(); i < made.size(); ++i) REQUIRE(made[i] == 0x5C);  // of a larger size
    }
  }
}

TEST_CASE("a picture of a batch's size is left as it is", "[buckets]") {
  const PixelRows rows = noise({30, 12}, 4);
  const auto made = render("{ op = \"aspect-bucket\", " + kSizes + " }", rows, 1).tensor;
  for (int y = 0; y < 12; ++y) REQUIRE(std::memcmp(made.data() + 90 * y, rows.row(y), 90) == 0);
}

TEST_CASE("pictures of any proportions cover every size", "[buckets]") {
  for (const Size& picture : {Size{1, 1}, Size{1, 400}, Size{400, 1}, Size{19, 20}, Size{20, 19}, Size{7, 3}}) {
    const PixelRows rows = noise(picture, 4);
    for (uint32_t shape = 0; shape < 3; ++shape) {
      const auto made = render("{ op = \"aspect-bucket\", " + kSizes + " }", rows, shape);
      const image::Pass& last = made.geometry.passes.back();
      CAPTURE(picture.width, picture.height, shape);
      CHECK(image::inside_of(last) == last.window);  // nothing is black
    }
  }
}

TEST_CASE("operations behind it see the batch's size", "[buckets]") {
  const PixelRows rows = noise({83, 61}, 4);
  const std::string op = "{ op = \"aspect-bucket\", " + kSizes + " }";
  const auto plain = render(op, rows, 1).tensor;
  const auto turned = render(op + ", { op = \"horizontal-flip\", p = 1 }, { op = \"invert\", p = 1 }", rows, 1).tensor;
  for (size_t y = 0; y < 12; ++y)
    for (size_t x = 0; x < 90; ++x) REQUIRE(turned[90 * y + x] == 255 - plain[90 * y + 3 * (29 - x / 3) + x % 3]);
}

TEST_CASE("every place of a random cut is as likely as the others", "[buckets]") {
  const auto program = program_of("{ op = \"aspect-bucket\", " + kSizes + ", crop = \"random\" }");
  std::array<int, 11> counts{};
  image::Geometry geometry;
  geometry.shape = 1;
  constexpr int kSamples = 100'000;
  for (int sample = 0; sample < kSamples; ++sample) {
    program.resolve({30, 22}, {7, 1, static_cast<uint64_t>(sample)}, geometry);  // becomes 30 x 22 for 30 x 12
    ++counts.at(static_cast<size_t>(geometry.passes.back().window.y));
    REQUIRE(geometry.passes.back().window.x == 0);
  }
  double chi_squared = 0;
  for (const int count : counts) {
    const double wanted = static_cast<double>(kSamples) / counts.size();
    chi_squared += (count - wanted) * (count - wanted) / wanted;
  }
  CHECK(chi_squared < 29.6);  // 10 degrees of freedom: exceeded by chance in 1 of 1000
}

}  // namespace
}  // namespace spdld::aspect_bucket_test
