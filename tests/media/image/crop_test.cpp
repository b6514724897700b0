// random-crop: where its boxes lie, and what is in them.
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "daemon/media/image/view.h"
#include "tests/support/image_programs.h"

namespace spdld::crop_test {
namespace {

using image::Geometry;
using test::program_of;
using test::render;

const std::string kCrop = "{ op = \"random-crop\", size = [5, 8] }";

TEST_CASE("every place of a random crop is as likely as the others", "[transform]") {
  const auto program = program_of(kCrop);
  constexpr size_t kPlaces = 5;  // along each side
  constexpr int kSamples = 10'000;
  std::array<int, kPlaces * kPlaces> counts{};
  Geometry geometry;
  for (int sample = 0; sample < kSamples; ++sample) {
    program.resolve({12, 9}, {7, 1, static_cast<uint64_t>(sample)}, geometry);
    REQUIRE(geometry.passes.size() == 1);
    const Box& box = geometry.decoded;
    REQUIRE((box.x >= 0 && box.y >= 0 && box.x + 8 <= 12 && box.y + 5 <= 9 && box.width == 8 && box.height == 5));
    ++counts[kPlaces * static_cast<size_t>(box.y) + static_cast<size_t>(box.x)];
  }
  double chi_squared = 0;
  for (const int count : counts) {
    const double expected = static_cast<double>(kSamples) / counts.size();
    chi_squared += (count - expected) * (count - expected) / expected;
  }
  CHECK(chi_squared < 51.2);  // 24 degrees of freedom: exceeded by chance in 1 of 1000
  CHECK(chi_squared > 6);
}

TEST_CASE("a random crop has the picture's pixels", "[transform]") {
  const PixelRows rows = test::noise({40, 33}, 4);
  std::set<int> columns;
  for (uint64_t sample = 0; sample < 30; ++sample) {
    const auto cropped = render(program_of(kCrop), rows, {1, 1, sample});
    const Box& box = cropped.geometry.decoded;
    columns.insert(box.x);
    for (int y = 0; y < 5; ++y)
      REQUIRE(std::memcmp(cropped.tensor.data() + 24 * y, rows.row(box.y + y) + 3 * box.x, 24) == 0);
  }
  CHECK(columns.size() > 10);
}

// The place of a 3 x 2 picture in its black box of 8 x 5: where its pixels are, and that the rest is black.
Box place_of(const std::vector<uint8_t>& tensor, const PixelRows& rows) {
  for (int top = 0; top <= 3; ++top) {
    for (int left = 0; left <= 5; ++left) {
      std::vector<uint8_t> expected(tensor.size());
      for (int y = 0; y < 2; ++y) std::memcpy(expected.data() + 24 * (top + y) + 3 * left, rows.row(y), 9);
      if (expected == tensor) return {left, top, 3, 2};
    }
  }
  return {};
}

TEST_CASE("a smaller picture has any place in a black box", "[transform]") {
  const PixelRows rows = test::noise({3, 2}, 4);
  std::set<std::pair<int, int>> places;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    const Box place = place_of(render(program_of(kCrop), rows, {1, 1, sample}).tensor, rows);
    REQUIRE(place.width == 3);
    places.insert({place.x, place.y});
  }
  CHECK(places.size() == 6 * 4);
}

TEST_CASE("a random crop of the picture's own size is the picture", "[transform]") {
  const PixelRows rows = test::noise({8, 5}, 4);
  const auto cropped = render(program_of(kCrop), rows, {1, 1, 3});
  CHECK(std::memcmp(cropped.tensor.data(), rows.row(0), cropped.tensor.size()) == 0);
}

TEST_CASE("random crops with one draw lie at one place", "[transform]") {
  const auto at = [](const std::string& draw, uint64_t sample) {
    Geometry geometry;
    program_of("{ op = \"random-crop\", size = [5, 8]" + draw + " }").resolve({90, 80}, {1, 2, sample}, geometry);
    return geometry.decoded;
  };
  int same = 0;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    CHECK(at("", sample) == at(", draw = \"random-crop\"", sample));
    same += at("", sample) == at(", draw = \"other\"", sample);
  }
  CHECK(same < 3);
}

TEST_CASE("boxes of a view follow a random crop", "[view]") {
  Geometry geometry;
  program_of(kCrop + ", { op = \"horizontal-flip\", p = 1 }").resolve({90, 80}, {1, 2, 3}, geometry);
  const Box& box = geometry.decoded;
  const auto x = static_cast<float>(box.x), y = static_cast<float>(box.y);
  const image::Corners seen = image::seen(geometry.passes, {x + 1, y + 1, x + 3, y + 40});
  CHECK((seen.x1 == 5 && seen.y1 == 1 && seen.x2 == 7 && seen.y2 == 5));
}

}  // namespace
}  // namespace spdld::crop_test
